# frozen_string_literal: true

# A peer of the hutch and event layouts, written from spec/layouts/hutch.md: ruby peer.rb
# JSON lines on stdin and stdout; interop/README.md says which. One process may be several programs.

require_relative 'event'
require_relative 'hutch'

class Peer
  MODES = { 'hutch' => Hutch, 'event' => Event }.freeze
  COMMANDS = %w[open consume publish delay close level queue wait].freeze

  def initialize
    @one_at_a_time = Mutex.new
    @programs = {} # name -> [wire, program]
    say({ peer: 'ruby', modes: MODES.keys })
  end

  def obey(line)
    command = JSON.parse(line)
    verb = command['do']
    raise ArgumentError, "no command #{verb}" unless COMMANDS.include?(verb)

    say({ verb => send(verb, command), n: command['n'] })
  rescue StandardError => e
    say({ error: "#{e.class}: #{e.message}", n: command && command['n'] })
  end

  private

  def say(record)
    line = "#{JSON.generate(record)}\n"
    @one_at_a_time.synchronize { $stdout.write(line) }
  end

  def open(command)
    wire = Wire.new(command['url'])
    handler = Handler.new { |record| say({ **record, by: command['as'] }) }
    @programs[command['as']] = [wire, MODES.fetch(command['mode']).new(wire, command, handler)]
    true
  end

  def consume(command) = !program(command).consume(command['consumers']).nil?

  def publish(command) = !program(command).publish(command['key'], command['value'], command['properties'] || {}).nil?

  def delay(command)
    program(command).delay(command['seconds'], command['key'], command['value'], command['properties'] || {})
    true
  end

  def close(command)
    @programs.delete(command['as'])[0].close
    true
  end

  # The pure rules, to compare them.
  def level(command) = Names.level(command['seconds'], command['mode'])

  def queue(command) = Names.class_queue(command['class'])

  def wait(command) = Names.wait(command['failures'], command['mode'])

  def program(command) = @programs.fetch(command['as'])[1]
end

$stdout.sync = true
$stdin.set_encoding(Encoding::UTF_8)
peer = Peer.new
$stdin.each_line { |line| peer.obey(line) }
exit!
