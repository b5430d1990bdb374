package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones on a machine without them
)

// A field is the set of its values; the top bit tells that it is unrestricted.
type field uint64

const unrestricted = field(1) << 63

func (f field) has(value int) bool { return f>>uint(value)&1 == 1 }

// A spec is a clock that fires at the times that match all its fields, or every so many seconds.
type spec struct {
	second, minute, hour, day, month, weekday field
	zone                                      *time.Location
	every                                     time.Duration
}

type bounds struct {
	name  string
	low   int
	high  int
	names []string // of the values from low on
}

var fieldsOfSpec = []bounds{
	{"second", 0, 59, nil},
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{"day of week", 0, 6, strings.Fields("sun mon tue wed thu fri sat")},
}

var descriptors = map[string]string{
	"@yearly":   "0 0 0 1 1 *",
	"@annually": "0 0 0 1 1 *",
	"@monthly":  "0 0 0 1 * *",
	"@weekly":   "0 0 0 * * 0",
	"@daily":    "0 0 0 * * *",
	"@midnight": "0 0 0 * * *",
	"@hourly":   "0 0 * * * *",
}

func parseSpec(text string) (*spec, error) {
	zone := time.Local
	for _, prefix := range []string{"TZ=", "CRON_TZ="} {
		if !strings.HasPrefix(text, prefix) {
			continue
		}
		blank := strings.Index(text, " ")
		if blank < 0 {
			return nil, fmt.Errorf("no fields behind the zone: %q", text)
		}
		var err error
		if zone, err = time.LoadLocation(text[len(prefix):blank]); err != nil {
			return nil, err
		}
		text = strings.TrimSpace(text[blank:])
		break
	}
	if strings.HasPrefix(text, "@every ") {
		every, err := time.ParseDuration(text[len("@every "):])
		if err != nil {
			return nil, err
		}
		if every = every.Truncate(time.Second); every < time.Second {
			every = time.Second
		}
		return &spec{every: every}, nil
	}
	if strings.HasPrefix(text, "@") {
		if descriptors[text] == "" {
			return nil, fmt.Errorf("no such descriptor: %q", text)
		}
		text = descriptors[text]
	}
	parts := strings.Fields(text)
	if len(parts) == 5 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != len(fieldsOfSpec) {
		return nil, fmt.Errorf("five or six fields, not %d: %q", len(parts), text)
	}
	read := make([]field, len(parts))
	for i, part := range parts {
		var err error
		if read[i], err = parseField(part, fieldsOfSpec[i]); err != nil {
			return nil, err
		}
	}
	return &spec{read[0], read[1], read[2], read[3], read[4], read[5], zone, 0}, nil
}

func parseField(text string, within bounds) (field, error) {
	all := field(0)
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		one, err := parseItem(item, within)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %v", within.name, item, err)
		}
		all |= one
	}
	return all, nil
}

func parseItem(item string, within bounds) (field, error) {
	parts := strings.Split(item, "/")
	ends := strings.Split(parts[0], "-")
	if len(parts) > 2 || len(ends) > 2 {
		return 0, fmt.Errorf("too many slashes or hyphens")
	}
	low, high, step, flag := within.low, within.high, 1, field(0)
	var err error
	if ends[0] == "*" || ends[0] == "?" {
		flag = unrestricted
	} else {
		if low, err = within.value(ends[0]); err != nil {
			return 0, err
		}
		if len(ends) == 2 {
			if high, err = within.value(ends[1]); err != nil {
				return 0, err
			}
		} else if len(parts) == 1 {
			high = low
		}
	}
	if len(parts) == 2 {
		if step, err = number(parts[1]); err != nil {
			return 0, err
		}
		if step > 1 {
			flag = 0
		}
	}
	if low < within.low || high > within.high || low > high || step == 0 {
		return 0, fmt.Errorf("not from %d to %d, or a step of 0", within.low, within.high)
	}
	for value := low; value <= high; value += step {
		flag |= 1 << uint(value)
	}
	return flag, nil
}

func (b bounds) value(text string) (int, error) {
	for i, name := range b.names {
		if strings.ToLower(text) == name {
			return b.low + i, nil
		}
	}
	return number(text)
}

func number(text string) (int, error) {
	value, err := strconv.Atoi(text)
	if err == nil && value < 0 {
		err = fmt.Errorf("negative: %s", text)
	}
	return value, err
}

// next answers the first time after another at which the spec fires; the zero time if it finds none in five years.
//
// It walks the clock by months, days, hours, minutes and seconds, each to its next match. Where a unit comes back to its
// least value, it looks at the greater units again.
func (s *spec) next(after time.Time) time.Time {
	if s.every > 0 {
		return after.Truncate(time.Second).Add(s.every)
	}
	back := after.Location()
	zone := s.zone
	t := after.In(zone).Truncate(time.Second).Add(time.Second)
	moved := false
	// begin gives the lesser units their least values, at the first move only.
	begin := func(least time.Time) {
		if !moved {
			moved, t = true, least
		}
	}
	last := t.Year() + 5
wrap:
	for t.Year() <= last {
		for !s.month.has(int(t.Month())) {
			begin(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, zone))
			if t = t.AddDate(0, 1, 0); t.Month() == time.January {
				continue wrap
			}
		}
		for !s.isDay(t) {
			begin(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, zone))
			t = t.AddDate(0, 0, 1)
			if hour := t.Hour(); hour > 12 { // the clock skips or repeats midnight
				t = t.Add(time.Duration(24-hour) * time.Hour)
			} else {
				t = t.Add(time.Duration(-hour) * time.Hour)
			}
			if t.Day() == 1 {
				continue wrap
			}
		}
		for !s.hour.has(t.Hour()) {
			begin(time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, zone))
			if t = t.Add(time.Hour); t.Hour() == 0 {
				continue wrap
			}
		}
		for !s.minute.has(t.Minute()) {
			begin(t.Truncate(time.Minute))
			if t = t.Add(time.Minute); t.Minute() == 0 {
				continue wrap
			}
		}
		for !s.second.has(t.Second()) {
			begin(t)
			if t = t.Add(time.Second); t.Second() == 0 {
				continue wrap
			}
		}
		return t.In(back)
	}
	return time.Time{}
}

func (s *spec) isDay(t time.Time) bool {
	day, weekday := s.day.has(t.Day()), s.weekday.has(int(t.Weekday()))
	if bits.LeadingZeros64(uint64(s.day)) == 0 || bits.LeadingZeros64(uint64(s.weekday)) == 0 {
		return day && weekday
	}
	return day || weekday
}
