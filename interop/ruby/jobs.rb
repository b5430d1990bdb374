# frozen_string_literal: true

# The functions that jobs may call, by the names under which they are stored. Names are looked up, never evaluated.

class Jobs
  # The forms that stand for a name: spec/job.md, section 4.
  FORMS = [
    /\A#'(\S+)\z/, /\A'(\S+)\z/, /\A\(\s*(?:var|quote)\s+(\S+?)\s*\)\z/,
    %r{\A\(\s*(?:clojure\.core/)?resolve\s+'(\S+?)\s*\)\z},
    %r{\A\(\s*(?:clojure\.core/)?resolve\s+\(\s*quote\s+(\S+?)\s*\)\s*\)\z}
  ].freeze

  def initialize(&say)
    @say = say
    @tried = {}
    @functions = {
      'peers.jobs/note' => nil, 'peers.jobs/take-note' => nil, 'peers.jobs/count!' => nil, "peers.jobs/note'" => nil,
      'peers.ruby/only' => nil, 'peers.jobs/slow' => ->(ms, *) { sleep(ms / 1000.0) },
      'peers.jobs/fail' => ->(*) { raise 'as it was asked to' }, 'peers.jobs/flaky' => method(:flaky)
    }
  end

  # The name of a function that is known here, or nil.
  def known(job)
    name = FORMS.filter_map { |form| form.match(job.strip)&.[](1) }.first
    name if @functions.key?(name)
  end

  # Announce the run and do what it does. Raises what the function raises.
  def run(name, args, place)
    @say.call({ ran: name, args: args, **place, at: Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) })
    @functions[name]&.call(*args)
  end

  private

  def flaky(*args)
    return if @tried.key?(args)

    @tried[args] = true
    raise 'the first time it fails'
  end
end
