# frozen_string_literal: true

require_relative 'names'
require_relative 'wire'
require 'securerandom'

# A program with wppurking/event, with its faults: a publisher and a worker pool.
class Event
  MAX_FAILS = 4
  PREFETCH = 20
  MOST_DEAD = 100_000

  @consumers = 0
  class << self
    def next_tag = "ctag-peer-#{@consumers += 1}"
  end

  def initialize(wire, settings, handler)
    @wire, @handler = wire, handler
    @exchange, @namespace = settings['exchange'] || 'hutch', settings['namespace']
    @handlers = {}
    @wire.topic(@exchange)
    @wire.delay_queues(@exchange)
    arguments = { 'x-message-ttl' => Names::KEPT_MS, 'x-max-length' => MOST_DEAD }
    @wire.queue("#{@exchange}_dead_queue", arguments: arguments)
    @wire.bind("#{@exchange}_dead_queue", @exchange, 'dead_queue.#')
  end

  # The queue and its binding are in lower case, and a handler is found by the exact key of a message.
  def consume(consumers)
    consumers.each do |consumer|
      key = consumer['key'].downcase
      @handlers[key] = consumer
      queue = consumer['queue_name'] || "#{@namespace}.#{key}"
      @wire.queue(queue)
      @wire.bind(queue, @exchange, key)
      channel = @wire.channel(consumer['prefetch'] || PREFETCH, threads: 4)
      take = ->(place, properties, body) { received(channel, queue, place, properties, body) }
      channel.basic_consume(queue, Event.next_tag, false, false, &take)
    end
  end

  def publish(key, value, _properties = {}) = send_to(@exchange, key, Wire.json(value))

  def delay(seconds, key, value, _properties = {})
    raise ArgumentError, "#{seconds} is no whole number above 0" unless seconds.is_a?(Integer) && seconds.positive?
    raise ArgumentError, 'a delayed message is an object' unless value.is_a?(Hash)

    put_off(seconds, key, Wire.json(value), {})
  end

  private

  def send_to(exchange, key, body, headers: {}, mode: 2, **properties)
    said = { content_type: 'application/json', delivery_mode: mode, message_id: SecureRandom.hex(12),
             timestamp: Time.now.to_i, **properties }
    said[:headers] = headers unless headers.empty?
    @wire.publish(exchange, key, body, said)
  end

  def put_off(seconds, key, body, headers)
    level = Names.level(seconds, 'event')
    send_to("#{@exchange}.schedule", "#{@exchange}.schedule.#{level}s", body,
            headers: { **headers, 'CC' => [key] }, expiration: (level * 1000).to_s)
  end

  def received(channel, queue, place, properties, body)
    headers = properties[:headers] || {}
    name = Names.real_key(place.routing_key, headers)
    consumer = @handlers[name]
    return bury(name, body, headers) unless consumer # a stray message: it is never acknowledged

    record = { ran: name, queue: queue, body: Wire.text(body), id: properties[:message_id], key: name,
               redelivered: place.redelivered? }
    work(channel, consumer, place.delivery_tag, name, body, headers, record)
  end

  def work(channel, consumer, tag, name, body, headers, record)
    failures = Names.deaths(headers) { |keys| keys.any? { |key| key.include?(name) } }
    answer = @handler.run(consumer, parsed(body), failures, record)
    channel.reject(tag, answer == 'nack') if answer
    channel.ack(tag) # also after a reject: the broker closes the channel
  rescue RuntimeError
    fail_with(consumer, name, body, headers, failures)
    channel.ack(tag)
  end

  def fail_with(consumer, name, body, headers, failures)
    if failures < (consumer['max_fails'] || MAX_FAILS)
      put_off(consumer['wait'] || Names.wait(failures, 'event'), name, body, headers)
    elsif !consumer['skip_dead']
      bury(name, body, headers)
    end
  end

  # With all headers of the message. A CC among them leads it back to the work queue.
  def bury(name, body, headers) = send_to(@exchange, "dead_queue.#{name}", body, headers: headers, mode: 1)

  def parsed(body)
    JSON.parse(body)
  rescue JSON::ParserError, EncodingError
    nil
  end
end
