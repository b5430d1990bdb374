# frozen_string_literal: true

require_relative 'names'
require_relative 'wire'
require 'securerandom'

# A program with hutch, and with hutch-schedule if `schedule` is set, with their faults. `version` is that of hutch.
class Hutch
  SCHEDULE_FITS = Gem::Version.new('1.1.0') # the last hutch that hutch-schedule declares its queues right with
  ACKS_ONCE = Gem::Version.new('1.2.0') # from here on; hutch-schedule acknowledges twice with any
  PREFIXES_ALL = Gem::Version.new('1.4.0') # up to here the namespace stands before the delay queues too

  def initialize(wire, settings, handler)
    @wire, @handler = wire, handler
    @exchange = settings['exchange'] || 'hutch'
    @namespace, @schedule = settings['namespace'], settings['schedule']
    @version = Gem::Version.new(settings['version'] || (@schedule ? '1.1.0' : '1.4.0'))
    @prefetch = settings['prefetch'] || (@schedule ? 20 : 0)
    @crash_at = settings['crash_at']
    declare
  end

  def consume(consumers)
    @channel ||= @wire.channel(@prefetch, threads: 4)
    consumers.each do |consumer|
      queue = "#{prefix}#{consumer['queue_name'] || Names.class_queue(consumer['class'])}"
      @wire.queue(queue, arguments: consumer['arguments'] || {})
      consumer['keys'].each { |key| @wire.bind(queue, @exchange, key) }
      take = ->(place, properties, body) { received(consumer, queue, place, properties, body) }
      @channel.basic_consume(queue, "hutch-#{SecureRandom.uuid}", false, false, &take)
    end
  end

  def publish(key, value, properties = {})
    send_to(@exchange, key, value, properties)
  end

  # Anything below 0 becomes the longest delay, as there; `message.enqueue_at` guards against that, not this.
  def delay(seconds, key, value, properties = {})
    level = Names.level(seconds, 'hutch')
    headers = { **(properties['headers'] || {}), CC: [key] } # beside a CC that was received: twice on the wire
    properties = properties.merge('expiration' => (level * 1000).to_s, 'headers' => headers)
    send_to("#{@exchange}.schedule", "#{@exchange}.schedule.#{level}s", value, properties)
  end

  private

  def declare
    @wire.topic(@exchange)
    return unless @schedule

    of_delays = @version < PREFIXES_ALL ? prefix : ''
    @wire.delay_queues(@exchange, prefix: of_delays, broken: @version > SCHEDULE_FITS)
  end

  def prefix = @namespace ? "#{Names.clean(@namespace)}:" : ''

  def send_to(exchange, key, value, properties)
    given = properties.transform_keys(&:to_sym)
    said = { delivery_mode: 2, priority: 0, message_id: SecureRandom.uuid, **given,
             timestamp: Time.now.to_i, content_type: 'application/json' }
    @wire.publish(exchange, key, Wire.json(value), said)
  end

  def received(consumer, queue, place, properties, body)
    value = JSON.parse(body)
    raise TypeError, 'no object' unless value.is_a?(Hash)
  rescue JSON::ParserError, TypeError, EncodingError
    # hutch drops the message. hutch-schedule does nothing: it stays unacknowledged.
    @channel.reject(place.delivery_tag, false) unless @schedule
  else
    work(consumer, queue, place, properties, value)
  end

  def work(consumer, queue, place, properties, value)
    headers = properties[:headers]
    failures = Names.deaths(headers) { |keys| (keys & consumer['keys']).any? }
    record = { ran: place.routing_key, queue: queue, value: value, id: properties[:message_id],
               redelivered: place.redelivered?, key: Names.real_key(place.routing_key, headers) }
    answer(place.delivery_tag, @handler.run(consumer, value, failures, record))
  rescue RuntimeError
    @channel.nack(place.delivery_tag, false, false)
    Process.kill(:KILL, Process.pid) if @crash_at == 'after-nack'
    again(consumer, value, headers, failures) if @schedule
  end

  def answer(tag, method)
    case method
    when 'reject' then @channel.reject(tag, false)
    when 'requeue', 'nack' then @channel.reject(tag, true)
    end
    @channel.ack(tag) if method.nil? || @schedule || @version < ACKS_ONCE
  end

  # By the last key of the consumer, whatever key the message had. Other properties are lost.
  def again(consumer, value, headers, failures)
    return if failures >= (consumer['attempts'] || 0)

    delay(Names.wait(failures, 'hutch'), consumer['keys'].last, value, { 'headers' => headers || {} })
  end
end
