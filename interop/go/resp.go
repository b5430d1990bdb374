package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// A redisError is an error that the server answered.
type redisError string

func (e redisError) Error() string { return string(e) }

// A reply is a string, an int64, nil, a redisError or a []interface{} of these.
type reply = interface{}

type link struct {
	socket net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
}

// A server hands out connections to one Redis database. Goroutines share it.
type server struct {
	address  string
	database int
	mutex    sync.Mutex
	idle     []*link
}

func (s *server) take() (*link, error) {
	s.mutex.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		found := s.idle[last]
		s.idle = s.idle[:last]
		s.mutex.Unlock()
		return found, nil
	}
	s.mutex.Unlock()
	socket, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, err
	}
	made := &link{socket, bufio.NewReader(socket), bufio.NewWriter(socket)}
	if s.database != 0 {
		_, err = made.exchange([][]interface{}{words("SELECT", s.database)})
	}
	return made, err
}

// send writes all commands at once and reads their replies. Words are strings, ints and int64s.
func (s *server) send(commands ...[]interface{}) ([]reply, error) {
	conn, err := s.take()
	if err != nil {
		return nil, err
	}
	replies, err := conn.exchange(commands)
	if err != nil {
		conn.socket.Close()
		return nil, err
	}
	s.mutex.Lock()
	s.idle = append(s.idle, conn)
	s.mutex.Unlock()
	return replies, nil
}

func (s *server) do(words ...interface{}) (reply, error) {
	replies, err := s.send(words)
	if err != nil {
		return nil, err
	}
	if refused, is := replies[0].(redisError); is {
		return nil, refused
	}
	return replies[0], nil
}

// transaction sends the commands between MULTI and EXEC.
func (s *server) transaction(commands ...[]interface{}) error {
	all := append([][]interface{}{words("MULTI")}, commands...)
	replies, err := s.send(append(all, words("EXEC"))...)
	if err != nil {
		return err
	}
	for _, each := range replies {
		if refused, is := each.(redisError); is {
			return refused
		}
	}
	return nil
}

func words(parts ...interface{}) []interface{} { return parts }

func (l *link) exchange(commands [][]interface{}) ([]reply, error) {
	for _, command := range commands {
		l.header('*', len(command))
		for _, word := range command {
			text, is := word.(string)
			if !is {
				text = fmt.Sprint(word)
			}
			l.header('$', len(text))
			l.writer.WriteString(text)
			l.writer.WriteString("\r\n")
		}
	}
	if err := l.writer.Flush(); err != nil {
		return nil, err
	}
	replies := make([]reply, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = l.read(); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (l *link) header(kind byte, size int) {
	l.writer.WriteByte(kind)
	l.writer.WriteString(strconv.Itoa(size))
	l.writer.WriteString("\r\n")
}

func (l *link) read() (reply, error) {
	line, err := l.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("not a reply: %q", line)
	}
	rest := line[1 : len(line)-2]
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return redisError(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	}
	size, err := strconv.Atoi(rest)
	if err != nil || size < 0 {
		return nil, err
	}
	switch line[0] {
	case '$':
		text := make([]byte, size+2)
		_, err = io.ReadFull(l.reader, text)
		return string(text[:size]), err
	case '*':
		found := make([]reply, size)
		for i := range found {
			if found[i], err = l.read(); err != nil {
				return nil, err
			}
		}
		return found, nil
	}
	return nil, fmt.Errorf("not a reply: %q", line)
}

// texts makes a reply that is an array of texts, or none, a slice.
func texts(from reply) []string {
	found := []string{}
	members, _ := from.([]reply)
	for _, each := range members {
		text, _ := each.(string)
		found = append(found, text)
	}
	return found
}
