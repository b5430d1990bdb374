# frozen_string_literal: true

# A Redis client in one page: a socket, commands out, replies in (RESP2). Texts are UTF-8; bytes that are not stay as
# they came.

require 'socket'

class Redis
  Refused = Class.new(StandardError)

  def initialize(port)
    @socket = TCPSocket.new('127.0.0.1', port)
    @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  end

  def call(*command)
    parts = command.map { |part| part.to_s.b }.map { |part| "$#{part.bytesize}\r\n#{part}\r\n" }
    @socket.write("*#{parts.size}\r\n#{parts.join}")
    reply
  end

  # The server's clock, in milliseconds.
  def now
    seconds, micros = call('TIME').map(&:to_i)
    seconds * 1000 + micros / 1000
  end

  def close = @socket.close

  private

  def reply
    line = @socket.gets("\r\n") or raise EOFError, 'the server closed the connection'
    sign, tail = line[0], line[1..].chomp
    case sign
    when '+' then tail
    when '-' then raise Refused, tail
    when ':' then tail.to_i
    when '$' then tail == '-1' ? nil : text(tail.to_i)
    else Array.new([tail.to_i, 0].max) { reply }
    end
  end

  def text(size)
    bytes = @socket.read(size + 2)
    bytes[0, size].force_encoding(Encoding::UTF_8)
  end
end
