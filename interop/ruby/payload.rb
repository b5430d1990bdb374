# frozen_string_literal: true

# The text of a payload, byte for byte: spec/job.md, sections 1 and 2. Reading is left to Ruby's own json, which keeps
# integers of any size and doubles apart.

require 'digest/sha1'
require 'json'

module Payload
  SHORT = { '"' => '\"', '\\' => '\\\\', '/' => '\/', "\b" => '\b', "\f" => '\f', "\n" => '\n', "\r" => '\r',
            "\t" => '\t' }.freeze

  module_function

  # Raises JSON::ParserError.
  def read(text) = JSON.parse(text, max_nesting: 1000)

  def id_of(text) = Digest::SHA1.hexdigest(text)

  # `args`, `cron` and `job` come in this order, which is that of their names.
  def of(job:, cron:, args:) = write({ 'args' => args, 'cron' => cron, 'job' => job })

  def write(value)
    case value
    when nil, true, false, Integer then value.nil? ? 'null' : value.to_s
    when Float then double(value)
    when String then string(value)
    when Symbol then string(value.name)
    when Array then "[#{value.map { |inner| write(inner) }.join(',')}]"
    when Hash then "{#{value.map { |key, inner| "#{write(key.to_s)}:#{write(inner)}" }.join(',')}}"
    else raise ArgumentError, "#{value.class} is not JSON"
    end
  end

  def string(text)
    escaped = text.gsub(%r{["\\/\u0000-\u001f\u0080-\u{10ffff}]}) { |mark| SHORT[mark] || units(mark) }
    %("#{escaped}")
  end

  def units(mark) = mark.encode('UTF-16BE').unpack('n*').map { |unit| format('\u%04x', unit) }.join

  # As Java 19 and later print it.
  def double(value)
    raise ArgumentError, "#{value} is not JSON" unless value.finite?

    size = value.abs
    return value.to_s if size.zero? || (size >= 1e-3 && size < 1e7) # Ruby prints these alike, -0.0 too

    digits, exponent = significant(size.to_s)
    two = format('%.1e', size) # where one digit is enough, the nearest of two digits: 4.9E-324
    digits, exponent = significant(two) if digits.size == 1 && two.to_f == size
    rest = digits[1..]
    "#{'-' if value.negative?}#{digits[0]}.#{rest.empty? ? '0' : rest}E#{exponent}"
  end

  # The digits of a printed double without zeros at either end, and the exponent of the first.
  def significant(printed)
    mantissa, exponent = printed.split('e')
    whole, fraction = mantissa.split('.')
    all = whole + fraction.to_s
    digits = all.sub(/\A0+/, '')
    [digits.sub(/0+\z/, ''), whole.size - 1 - (all.size - digits.size) + exponent.to_i]
  end
end
