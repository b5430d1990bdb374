# frozen_string_literal: true

require 'bunny'
require 'json'

# One connection, and what both libraries do in the same way.
class Wire
  def initialize(url)
    @connection = Bunny.new(url.delete_suffix('/'), network_recovery_interval: 0.5, logger: Logger.new(IO::NULL))
    @connection.start
    @publishing = @connection.create_channel
    @one_at_a_time = Mutex.new
  end

  def channel(prefetch, threads: 1)
    made = @connection.create_channel(nil, threads)
    made.basic_qos(prefetch)
    made
  end

  def topic(name) = @publishing.exchange_declare(name, 'topic', durable: true)

  def queue(name, durable: true, arguments: {})
    @publishing.queue_declare(name, durable: durable, arguments: arguments)
  end

  def bind(queue, exchange, key) = @publishing.queue_bind(queue, exchange, routing_key: key)

  # The 21 delay queues. `prefix` is what hutch puts before the names of its queues. `broken` as hutch-schedule declares
  # them with a hutch that is too new for it: messages in them end without a trace.
  def delay_queues(exchange, prefix: '', broken: false)
    topic("#{exchange}.schedule")
    kept = { 'x-message-ttl' => Names::KEPT_MS, 'x-dead-letter-exchange' => exchange }
    Names::LEVELS.each do |level|
      name = "#{prefix}#{exchange}_delay_queue_#{level}s"
      broken ? queue(name, durable: false) : queue(name, arguments: kept)
      bind(name, "#{exchange}.schedule", "#{exchange}.schedule.#{level}s")
    end
  end

  # Publish with these properties and no others: Bunny's own method adds some. Neither mandatory nor confirmed.
  def publish(exchange, key, body, properties)
    @one_at_a_time.synchronize do
      frames = AMQ::Protocol::Basic::Publish.encode(
        @publishing.id, body.b, properties, exchange, key, false, false, @connection.frame_max
      )
      @connection.send_frameset(frames, @publishing)
    end
  end

  def close = @connection.close

  # JSON as both libraries write it: with <, > and & escaped.
  def self.json(value) = JSON.generate(value).gsub(/[<>&\u2028\u2029]/) { |found| format('\u%04x', found.ord) }

  def self.text(bytes) = bytes.dup.force_encoding(Encoding::UTF_8).scrub
end

# What a handler of either library does is said in the body of the message: {"fail": n} fails in its first n runs, -1 in
# all; {"answer": "reject"} calls that method; {"sleep_ms": n} takes so long. A consumer may have a `fail` for all.
class Handler
  def initialize(&say)
    @say = say
  end

  # Announce the run and do it. Returns the answer, if any. Raises where the run fails.
  def run(consumer, value, failures, record)
    @say.call({ **record, failures: failures, at: Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) })
    asked = { **consumer, **(value.is_a?(Hash) ? value : {}) }
    sleep(asked['sleep_ms'] / 1000.0) if asked['sleep_ms']
    limit = asked['fail']
    raise 'as it was asked to' if limit && (limit.negative? || failures < limit)

    asked['answer']
  end
end
