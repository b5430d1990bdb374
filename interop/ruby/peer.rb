# frozen_string_literal: true

# A peer in Ruby, written from spec/ alone, with the standard library: ruby peer.rb PORT
# JSON lines on stdin and stdout; interop/README.md says which.

require_relative 'jobs'
require_relative 'layout'
require_relative 'resp'

class Peer
  PAUSE = 0.05 # seconds between two looks, about
  POINTS = %w[after-pop after-run].freeze
  COMMANDS = %w[add listen stop drain crash_at next].freeze

  def initialize(port)
    @port = port
    @redis = Redis.new(port)
    @jobs = Jobs.new { |record| say(record) }
    @one_at_a_time = Mutex.new
    @listening = {} # schedule -> [thread, whether it is to end]
    say({ peer: 'ruby', orders: Cron::FIELDS.keys, points: POINTS, traits: [] })
  end

  def obey(line)
    command = Payload.read(line)
    verb = command['do']
    raise ArgumentError, "no command #{verb}" unless COMMANDS.include?(verb)

    say({ **send(verb, command), n: command['n'] })
  rescue StandardError => e
    say({ error: "#{e.class}: #{e.message}", n: command && command['n'] })
  end

  private

  def say(record)
    line = "#{Payload.write(record)}\n"
    @one_at_a_time.synchronize { $stdout.write(line) }
  end

  def add(command) = layout(@redis, command).add(command['fn'], command['args'], command['when'])

  def listen(command)
    state = { ends: false }
    thread = Thread.new { listen_on(Redis.new(@port), command, state) }
    @listening[command['schedule']] = [thread, state]
    { listening: true }
  end

  def stop(command)
    thread, state = @listening.delete(command['schedule'])
    return { stopped: false } unless thread

    state[:ends] = true
    thread.join
    { stopped: true }
  end

  def drain(command)
    place, drained = layout(@redis, command), 0
    drained += 1 while turn(place)
    { drained: drained }
  end

  def crash_at(command) = { armed: @crash_point = command['point'] }

  def next(command) = { next: Cron.new(command['cron'], command['order']).next_after(command['from']) }

  def layout(redis, command)
    die = ->(point) { Process.kill(:KILL, Process.pid) if point == @crash_point }
    Layout.new(redis, command['schedule'], command['order'], known: @jobs.method(:known), may_crash: die)
  end

  def listen_on(own, command, state)
    place = layout(own, command)
    until state[:ends]
      next if turn(place)

      # By chance, lest another peer that looks as often is always first; and looking past many items takes a while.
      sleep(PAUSE * (0.5 + rand) + place.left / 10_000.0)
    end
    own.close
  rescue StandardError => e
    say({ broke: "#{e.class}: #{e.message}" })
  end

  # Whether there was anything to do. A job that fails is over.
  def turn(place)
    place.turn do |name, args, run|
      @jobs.run(name, args, run)
    rescue StandardError => e
      say({ failed: e.message, **run })
    end
  end
end

$stdout.sync = true
peer = Peer.new(Integer(ARGV.fetch(0)))
$stdin.set_encoding(Encoding::UTF_8)
$stdin.each_line { |line| peer.obey(line) }
exit!
