# frozen_string_literal: true

# Names, delay levels and waits of hutch, hutch-schedule and event: spec/layouts/hutch.md, sections 1, 2, 4 and 6.

module Names
  LEVELS = [5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 2400, 3000, 3600, 7200,
            10_800].freeze
  UNUSED_BY_EVENT = [480, 3000].freeze
  KEPT_MS = 30 * 24 * 3600 * 1000

  module_function

  def class_queue(name) = name.gsub('::', ':').gsub(/([^A-Z:])([A-Z])/, '\1_\2').downcase

  def clean(namespace) = namespace.downcase.gsub(/[^-:.\w]/, '')

  # The level that a library takes for a number of seconds. Too small a number gets the last one: both do so.
  def level(seconds, mode)
    return LEVELS.last if seconds < (mode == 'event' ? 1 : 0)

    usable = mode == 'event' ? LEVELS - UNUSED_BY_EVENT : LEVELS
    usable.find { |level| seconds <= level } || LEVELS.last
  end

  # Seconds before the next run, after so many failures before this one.
  def wait(failures, mode)
    mode == 'event' ? failures**4 + 15 + rand(30) * (failures + 1) : failures**4 + 2
  end

  # The real routing key.
  def real_key(routing_key, headers) = Array((headers || {})['CC']).first || routing_key

  # The entries of x-death for which the block, given their routing keys, is true: how often they died.
  def deaths(headers)
    entries = (headers || {})['x-death'] || []
    entries.select { |entry| yield entry['routing-keys'] }.sum { |entry| entry['count'] }
  end
end
