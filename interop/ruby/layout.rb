# frozen_string_literal: true

# The published layout, from spec/layouts/native.md section 2 and spec/job.md: how a peer adds, and how it takes.

require 'set'
require_relative 'cron'
require_relative 'payload'

class Layout
  PAGE = 1000
  # Payload and item in one step, so that no death between them leaves half a job.
  ADD = <<~LUA
    if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
    redis.call('ZADD', KEYS[2], ARGV[3], ARGV[4])
    return 1
  LUA
  # An item, if it still stands there with the score that was read: for good, or until its next run.
  TAKE = <<~LUA
    if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
    if ARGV[3] == '' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
    redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
    return 1
  LUA

  Found = Struct.new(:item, :score, :id, :name, :args, :cron)

  # `known` answers the name of a function for the text of a job, or nil; `may_crash` is called at each point where
  # this peer can be told to die.
  def initialize(redis, schedule, order, known:, may_crash:)
    @redis, @schedule, @order, @known, @may_crash = redis, schedule, order, known, may_crash
    @left = Set.new # items that are for others; a payload never changes, so neither does the answer
  end

  # Items that this peer looked at once and left standing.
  def left = @left.size

  def add(fn, args, wanted)
    now = @redis.now
    at = wanted == 'now' ? now : wanted['at']
    cron = at ? Cron.once(at, @order) : wanted['cron']
    due = wanted == 'now' ? now : Cron.new(cron, @order).next_after((at || now + 999).div(1000) * 1000 - 1)
    raise ArgumentError, "#{cron} never comes" unless due

    payload = Payload.of(job: "#'#{fn}", cron: cron, args: args)
    id = Payload.id_of(payload)
    new = @redis.call('EVAL', ADD, 2, "#{@schedule}:jobs", "#{@schedule}:next", id, payload, due, %({"id":"#{id}"}))
    { added: id, new: new == 1, due: new == 1 ? due : nil }
  end

  # Run what is due first and can be run here; whether anything was. Yields what the function's run needs.
  def turn
    job = find or return false
    due = job.score.to_f.floor
    again = job.cron.next_after([due, @redis.now].max)
    return true if @redis.call('EVAL', TAKE, 1, "#{@schedule}:next", job.item, job.score, again.to_s).zero? # another did

    @may_crash.call('after-pop')
    yield job.name, job.args, { schedule: @schedule, id: job.id, due: due }
    @may_crash.call('after-run')
    @redis.call('HDEL', "#{@schedule}:jobs", job.id) unless again
    true
  end

  private

  def find
    0.step(by: PAGE) do |start|
      page = @redis.call('ZRANGEBYSCORE', "#{@schedule}:next", '-inf', @redis.now, 'WITHSCORES', 'LIMIT', start, PAGE)
      @left.clear if page.empty? && start.zero?
      return nil if page.empty?

      page.each_slice(2) { |item, score| (job = read(item, score)) && (return job) }
    end
  end

  # The job of an item, or nil: it is for others, nobody can read it, or its payload is gone. It stays where it is.
  def read(item, score)
    return if @left.include?(item)

    id = Payload.read(item)['id']
    payload = @redis.call('HGET', "#{@schedule}:jobs", id) or return
    job, cron, args = Payload.read(payload).values_at('job', 'cron', 'args')
    name = @known.call(job) if args.nil? || args.is_a?(Array)
    return Found.new(item, score, id, name, args || [], Cron.new(cron, @order)) if name

    left_to_others(item)
  rescue JSON::ParserError, TypeError, NoMethodError, ArgumentError, Cron::Refused
    left_to_others(item)
  end

  def left_to_others(item)
    @left.add(item)
    nil
  end
end
