package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Job is one text of a queue, with its fields in the order in which Go writes them.
type Job struct {
	Name      string                 `json:"name,omitempty"`
	ID        string                 `json:"id"`
	T         int64                  `json:"t"`
	Args      map[string]interface{} `json:"args"`
	Unique    bool                   `json:"unique,omitempty"`
	UniqueKey string                 `json:"unique_key,omitempty"`
	Fails     int64                  `json:"fails,omitempty"`
	Err       string                 `json:"err,omitempty"`
	FailedAt  int64                  `json:"failed_at,omitempty"`

	raw     string // the bytes to remove from the in-progress list
	running string // the in-progress list
}

// ahead is what the clock of this peer differs from that of the machine. Recordings are replayed at their own time.
var ahead int64 // ns, read and written as a whole

func clock() time.Time { return time.Now().Add(time.Duration(atomic.LoadInt64(&ahead))) }

func setClock(at float64) {
	atomic.StoreInt64(&ahead, int64(time.Until(time.UnixMilli(int64(at*1000)))))
}

func now() int64 { return clock().Unix() }

func newID() string {
	id := make([]byte, 12)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	return hex.EncodeToString(id)
}

func readJob(text string) (*Job, error) {
	job := &Job{raw: text}
	if err := json.Unmarshal([]byte(text), job); err != nil {
		return nil, err
	}
	return job, nil
}

func (j *Job) text() (string, error) { return encode(j) }

// encode writes JSON as Go up to 1.21 does: later versions write backspace and form feed short.
func encode(value interface{}) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'b':
			out.WriteString(`\u0008`)
		case 'f':
			out.WriteString(`\u000c`)
		default:
			out.WriteByte('\\')
			out.WriteByte(text[i])
		}
	}
	return out.String(), nil
}

// uniqueKey is the key of a job name and its arguments, or of a key map in their place.
func (n namespace) uniqueKey(job string, content map[string]interface{}) (string, error) {
	key := n.key("unique:", job, ":")
	if content == nil {
		return key, nil
	}
	text, err := encode(content)
	return key + text + "\n", err
}

// readArgs reads arguments of a command. "" is none. An integer keeps all its digits, as in a Go program that has int64s.
func readArgs(text string) (map[string]interface{}, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var args map[string]interface{}
	if err := decoder.Decode(&args); err != nil {
		return nil, err
	}
	for name, value := range args {
		args[name] = withNumbers(value)
	}
	return args, nil
}

func withNumbers(value interface{}) interface{} {
	switch each := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(string(each), 10, 64); err == nil && each != "-0" {
			return whole
		}
		number, _ := each.Float64()
		return number
	case []interface{}:
		for i := range each {
			each[i] = withNumbers(each[i])
		}
	case map[string]interface{}:
		for name := range each {
			each[name] = withNumbers(each[name])
		}
	}
	return value
}
