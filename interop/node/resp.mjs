// A Redis client in one page: a socket, commands out, replies in (RESP2).

import { connect } from 'node:net'

export class Redis {
  #waiting = []
  #received = Buffer.alloc(0)

  constructor(port) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', (chunk) => this.#take(chunk))
    this.socket.on('error', (error) => this.#waiting.splice(0).forEach(({ reject }) => reject(error)))
  }

  call(...command) {
    const parts = command.map((part) => `$${Buffer.byteLength(String(part))}\r\n${part}\r\n`)
    this.socket.write(`*${command.length}\r\n${parts.join('')}`)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  close() {
    this.socket.end()
  }

  #take(chunk) {
    this.#received = Buffer.concat([this.#received, chunk])
    for (let reply; (reply = this.#reply(0)); ) {
      this.#received = this.#received.subarray(reply.end)
      const { resolve, reject } = this.#waiting.shift()
      reply.value instanceof Error ? reject(reply.value) : resolve(reply.value)
    }
  }

  // The reply that begins at `start`, and where it ends; nothing if it has not arrived as a whole.
  #reply(start) {
    const lineEnd = this.#received.indexOf('\r\n', start)
    if (lineEnd < 0) return undefined
    const tail = this.#received.toString('utf8', start + 1, lineEnd)
    let end = lineEnd + 2
    switch (String.fromCharCode(this.#received[start])) {
      case '+': return { value: tail, end }
      case '-': return { value: new Error(tail), end }
      case ':': return { value: Number(tail), end }
      case '$': {
        if (tail === '-1') return { value: null, end }
        const last = end + Number(tail)
        if (last + 2 > this.#received.length) return undefined
        return { value: this.#received.toString('utf8', end, last), end: last + 2 }
      }
    }
    const values = []
    for (let left = Number(tail); left > 0; left--) {
      const inner = this.#reply(end)
      if (!inner) return undefined
      values.push(inner.value)
      end = inner.end
    }
    return { value: values, end }
  }
}
