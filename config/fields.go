package config

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is one setting of a Config, found by its struct tags.
type field struct {
	name  string // of the flag, without dashes
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf lists the settings of c in the order of declaration.
func fieldsOf(c *Config) []field { return embedded(nil, reflect.ValueOf(c).Elem()) }

// embedded adds the settings of a group, and of the groups in it.
func embedded(fields []field, group reflect.Value) []field {
	for i := range group.NumField() {
		sf := group.Type().Field(i)
		if _, ok := sf.Tag.Lookup("embed"); ok {
			fields = embedded(fields, group.Field(i))
			continue
		}
		fields = append(fields, field{settingName(sf), sf.Tag, group.Field(i)})
	}
	return fields
}

// settingName is the name of the setting that a field of Config is.
func settingName(sf reflect.StructField) string {
	if name, ok := sf.Tag.Lookup("name"); ok {
		return name
	}
	return strings.ToLower(sf.Name)
}

// Names lists the flags, without dashes, in the order of declaration.
func Names() []string {
	fields := fieldsOf(&Config{})
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// Changeable lists the flags of the settings that can be changed while the crawl runs, in the order
// of declaration.
func Changeable() []string {
	var names []string
	for _, f := range fieldsOf(&Config{}) {
		if f.changeable() {
			names = append(names, f.name)
		}
	}
	return names
}

// NodeSettings lists the flags of a group that are settings of one node, in the order of
// declaration.
func NodeSettings(group string) []string {
	var names []string
	for _, f := range fieldsOf(&Config{}) {
		if f.tag.Get("group") == group && !f.ofCrawl() {
			names = append(names, f.name)
		}
	}
	return names
}

// EnvName is the environment variable of a flag.
func EnvName(flag string) string {
	return "CRAWLNODE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// words are the possible values of a setting that takes one of a few words; otherwise none.
func (f field) words() []string {
	hint := f.tag.Get("placeholder")
	if f.value.Kind() != reflect.String || !strings.Contains(hint, "|") ||
		hint != strings.ToLower(hint) {
		return nil
	}
	return strings.Split(hint, "|")
}

// list reports whether the setting takes several values.
func (f field) list() bool { return f.value.Kind() == reflect.Slice }

// split splits a text into the values of a list: at commas, or only at line ends if values may
// contain commas.
func (f field) split(text string) []string {
	if !f.list() {
		return []string{text}
	}
	sep := ","
	if f.tag.Get("sep") == "none" {
		sep = "\n"
	}
	var values []string
	for v := range strings.SplitSeq(text, sep) {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// set parses values into the setting; a setting that is not a list takes one.
func (f field) set(values []string) error {
	if !f.list() {
		if len(values) != 1 {
			return fmt.Errorf("takes one value, not %d", len(values))
		}
		return Bounded(f.name, parse(f.value, values[0]))
	}
	out := reflect.MakeSlice(f.value.Type(), len(values), len(values))
	for i, v := range values {
		if err := parse(out.Index(i), v); err != nil {
			return err
		}
	}
	f.value.Set(out)
	return nil
}

// parse reads text into one value of a type that occurs in Config.
func parse(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		if err := parse(fresh.Elem(), text); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	}
	if n, ok := v.Addr().Interface().(*netip.Prefix); ok {
		return parseNet(n, text)
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	if d, ok := v.Addr().Interface().(*time.Duration); ok {
		return parseDuration(d, text)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := parseBool(text)
		v.SetBool(b)
		return err
	case reflect.Int, reflect.Int64:
		n, err := ParseInt(text, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := ParseFloat(text)
		if err != nil {
			return err
		}
		v.SetFloat(x)
	default:
		panic("BUG: no parser for a setting of type " + v.Type().String())
	}
	return nil
}

func parseNet(n *netip.Prefix, text string) (err error) {
	*n, err = ParseNet(text)
	return err
}

// ParseNet parses a network: 10.0.0.0/8, fd00::/8. The error suggests what to write.
func ParseNet(text string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(text)
	if err == nil {
		return n, nil
	}
	host, _, _ := strings.Cut(text, "/")
	addr, noAddr := netip.ParseAddr(host)
	switch {
	case noAddr != nil || addr.Zone() != "":
		return n, fmt.Errorf("%q is not a network: write an address with a prefix length, "+
			"as 10.0.0.0/8, or 10.0.0.1/32 for one address", text)
	case host == text:
		return n, fmt.Errorf("%q has no prefix length: write %s/%d for this address alone, "+
			"or fewer bits for a network, as %s/%d", text, addr, addr.BitLen(), addr, addr.BitLen()/4)
	}
	return n, fmt.Errorf("%q has an invalid prefix length: write %s/0 to %s/%d", text, addr, addr,
		addr.BitLen())
}

func parseDuration(d *time.Duration, text string) (err error) {
	*d, err = ParseDuration(text)
	return err
}

// durationUnits are the spellings of units that time.ParseDuration does not know. A day has 24
// hours.
var durationUnits = map[string]struct {
	unit string
	many float64
}{
	"sec": {"s", 1}, "secs": {"s", 1}, "second": {"s", 1}, "seconds": {"s", 1}, "min": {"m", 1},
	"mins": {"m", 1}, "minute": {"m", 1}, "minutes": {"m", 1},
	"hr": {"h", 1}, "hrs": {"h", 1}, "hour": {"h", 1}, "hours": {"h", 1}, "d": {"h", 24}, "day": {"h",
		24}, "days": {"h", 24}, "w": {"h", 7 * 24}, "week": {"h", 7 * 24}, "weeks": {"h", 7 * 24},
}

// ParseDuration parses a duration: 500ms, 30s, 2h, 7d, "5 min". The error suggests what to write.
func ParseDuration(text string) (time.Duration, error) {
	plain := strings.TrimSpace(text)
	digits := len(plain) - len(strings.TrimLeft(plain, "-+.0123456789"))
	unit := strings.ToLower(strings.TrimSpace(plain[digits:]))
	number, noNumber := strconv.ParseFloat(plain[:digits], 64)
	switch u, known := durationUnits[unit]; {
	case known && noNumber == nil:
		plain = strconv.FormatFloat(number*u.many, 'f', -1, 64) + u.unit
	case noNumber == nil && unit != "":
		plain = plain[:digits] + unit // "30 s"
	}
	d, err := time.ParseDuration(plain)
	if err != nil && noNumber == nil {
		if u, known := durationUnits[unit]; known {
			number, unit = number*u.many, u.unit
		}
		if err := fitsDuration(text, number, unit); err != nil {
			return 0, err
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write a number and a unit, such as 500ms, 30s or 2h",
			text)
	}
	return d, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// Suggest returns the known name that is most similar to an unknown one, or "" if none is similar.
func Suggest(unknown string, known []string) string {
	best, bestDistance := "", len(unknown)/3+2
	for _, k := range known {
		if d := distance(strings.ReplaceAll(strings.ToLower(unknown), "_", "-"), k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts the single-byte edits that turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{cost, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
