# frozen_string_literal: true

# Cron strings of seven fields, in UTC: spec/cron.md, without its extensions.

require 'date'

class Cron
  Refused = Class.new(StandardError)
  Item = Struct.new(:from, :to, :step, :nth)

  FIELDS = {
    'published' => %i[year month day weekday hour minute second],
    'clojure' => %i[second minute hour month day weekday year] # section 5.3
  }.freeze
  BOUNDS = { year: [1970, 9999], month: [1, 12], day: [1, 31], weekday: [0, 6], hour: [0, 23], minute: [0, 59],
             second: [0, 59] }.freeze
  EPOCH = Date.new(1970, 1, 1)
  DAY, HOUR, MINUTE = 86_400, 3600, 60
  LAST_OF_ALL = { 'published' => 9999, 'clojure' => 2099 }.freeze # the years of a bare *

  # The text that names one second and no other.
  def self.once(ms, order)
    at = Time.at(ms / 1000).utc
    values = { year: at.year, month: at.month, day: at.day, weekday: order == 'clojure' ? '?' : '*', hour: at.hour,
               minute: at.min, second: at.sec }
    FIELDS.fetch(order).map { |name| values[name] }.join(' ')
  end

  # Raises Refused for what this peer does not read.
  def initialize(text, order)
    @order = order
    texts = text.sub(/[ \t]+\z/, '').split(/[ \t]+/, -1)
    raise Refused, "cron #{text.inspect} has #{texts.size} fields, not 7" unless texts.size == 7

    @texts = FIELDS.fetch(order).zip(texts).to_h
    @items = @texts.to_h { |name, items| [name, items.split(',', -1).map { |item| read(name, item) }] }
    @days = %i[day weekday].reject { |name| %w[* ?].include?(@texts[name]) } # those that restrict something
  end

  # The first match strictly after `ms`, in milliseconds, or nil.
  def next_after(ms)
    start = ms.div(1000) + 1
    from = Time.at(start).utc
    (from.year..9999).each do |year|
      next unless fits?(:year, year, nil)

      (1..12).each do |month|
        first = (Date.new(year, month, 1) - EPOCH).to_i * DAY
        days = Date.new(year, month, -1).day
        next if first + days * DAY <= start || !fits?(:month, month, first)

        days.times { |k| (found = in_day(first + k * DAY, k + 1, start)) && (return found * 1000) }
      end
    end
    nil
  end

  private

  def read(name, text)
    found = /\A(?:(?<star>[*?])|(?<first>\d{1,4})(?:-(?<last>\d{1,4}))?)(?:\/(?<step>\d{1,9}))?\z/.match(text)
    raise Refused, "cron: cannot read #{text.inspect} as #{name}" unless found && fair?(name, found)

    low, high = BOUNDS[name]
    high = LAST_OF_ALL[@order] if name == :year && found[:star]
    from, to = found[:star] ? [low, high] : [found[:first].to_i, (found[:last] || found[:first]).to_i]
    step = (found[:step] || 1).to_i
    raise Refused, "cron: #{text.inspect} is out of range as #{name}" unless step >= 1 && low <= from && from <= to && to <= high

    every_nth = found[:first] && !found[:last] && step > 1
    raise Refused, "cron: #{name} has no v/n: #{text.inspect}" if every_nth && (name == :year || @order == 'clojure')

    every_nth ? Item.new(from, to, 1, step) : Item.new(from, to, step, 1)
  end

  # `?` stands alone, in a day field only; a year has four digits, any other value two at most.
  def fair?(name, found)
    return %i[day weekday].include?(name) && @texts[name] == '?' if found[:star] == '?'

    [found[:first], found[:last]].compact.all? { |v| name == :year ? v.size == 4 : v.size <= 2 }
  end

  # `second` is the first second of the value at hand: a month, a day, an hour ...
  def fits?(name, value, second)
    @items[name].any? do |item|
      value.between?(item.from, item.to) && ((value - item.from) % item.step).zero? &&
        (item.nth == 1 || (occurrence(name, value, second) % item.nth).zero?)
    end
  end

  # How often a value has come round since 1970, this time included: section 2, rule 4.
  def occurrence(name, value, second)
    day = second.div(DAY)
    case name
    when :second then second.div(MINUTE) + 1
    when :minute then second.div(HOUR) + 1
    when :hour then day + 1
    when :weekday then (day - (value - 4) % 7).div(7) + 1 # day 0 was a Thursday
    when :month then (EPOCH + day).year - 1969
    else (0..months(day)).count { |month| Date.valid_date?(1970 + month / 12, month % 12 + 1, value) }
    end
  end

  def months(day)
    date = EPOCH + day
    (date.year - 1970) * 12 + date.month - 1
  end

  def in_day(second, day, start)
    return if second + DAY <= start || !day?(second, day)

    each_in(:hour, second, HOUR, 24, start) do |hour|
      each_in(:minute, hour, MINUTE, 60, start) do |minute|
        each_in(:second, minute, 1, 60, start) { |found| return found }
      end
    end
    nil
  end

  def each_in(name, from, length, count, start)
    count.times do |value|
      at = from + value * length
      yield at if at + length > start && fits?(name, value, at)
    end
  end

  # Either day field is enough where both restrict something.
  def day?(second, day)
    values = { day: day, weekday: (second.div(DAY) + 4) % 7 }
    @days.empty? || @days.any? { |name| fits?(name, values[name], second) }
  end
end
