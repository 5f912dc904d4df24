package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The possible origins of a setting (Setting.Origin), the strongest first.
const (
	OriginFlag        = "flag"
	OriginEnvironment = "environment"
	OriginFile        = "file"
	OriginDefault     = "default"
)

// KindSwitch is the Setting.Kind of a boolean setting.
const KindSwitch = "true, false"

// origin is a source and the place in it.
type origin struct{ layer, place string }

// origins are those of the settings that are not defaults, by name.
type origins map[string]origin

// Setting describes one setting, for people.
type Setting struct {
	Name   string   `json:"name"`   // of the flag without dashes, and the key of the file
	Group  string   `json:"group"`  // node, cluster, scope, politeness, output or limits
	Values []string `json:"values"` // none: not set, the default is computed at the start
	Origin string   `json:"origin"` // OriginFlag...
	Place  string   `json:"place"`  // the flag, the variable, or file:line; "" for a default
	// Env is the environment variable.
	Env string `json:"env"`
	// Default is the default value; "" is none.
	Default string `json:"default"`
	Help    string `json:"help"`
	Kind    string `json:"kind"` // the form of its value: duration, size, number, text...
	List    bool   `json:"list"` // takes several
	// when it takes effect: start, SIGHUP, cluster or founding; see Config
	Live string `json:"live"`
}

// Explain combines the sources as Load does and returns the value and origin of every setting, in
// the order of declaration. It does not read the files that settings name. The error is the one of
// Load; the settings are returned all the same.
func Explain(in Input) ([]Setting, error) {
	c, from, _ := layer(in)
	var settings []Setting
	for _, f := range fieldsOf(&c) {
		s := f.describe()
		s.Values, s.Origin = f.texts(), OriginDefault
		if o, ok := from[f.name]; ok {
			s.Origin, s.Place = o.layer, o.place
		}
		settings = append(settings, s)
	}
	_, err := Load(in)
	return settings, err
}

// describe sets the parts that do not depend on the value.
func (f field) describe() Setting {
	return Setting{
		Name: f.name, Group: f.tag.Get("group"), Env: EnvName(f.name), Default: f.tag.Get("default"),
		Help: f.tag.Get("help"), Kind: f.kind(), List: f.list(), Live: f.tag.Get("live"),
	}
}

// kind is the form of the value.
func (f field) kind() string {
	t := f.value.Type()
	if f.list() || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	}
	hint := f.tag.Get("placeholder")
	switch {
	case t.Kind() == reflect.Bool:
		return KindSwitch
	case strings.Contains(hint, "|") && hint == strings.ToLower(hint):
		return strings.ReplaceAll(hint, "|", ", ")
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "number"
	case t.Kind() == reflect.Float64:
		return "number from 0 to 1"
	}
	return cmp.Or(map[string]string{
		"ADDR": "host:port", "IP:PORT": "ip:port", "CIDR": "network", "HOST": "host name or address",
		"FILE": "path", "DIR": "path",
		"URL": "URL", "MAIL|URL": "mail address or URL", "PATTERN": "pattern",
		"LIST": "pages, links, hosts, text, all",
	}[hint], "text")
}

// texts are the values as in a file; none if the setting is not set.
func (f field) texts() []string {
	texts := []string{}
	switch {
	case f.list():
		for i := range f.value.Len() {
			texts = append(texts, textOf(f.value.Index(i)))
		}
	case f.value.Kind() == reflect.Pointer && f.value.IsNil(),
		f.value.Kind() == reflect.String && f.value.Len() == 0,
		f.value.Kind() == reflect.Struct && f.value.IsZero():
	default:
		texts = append(texts, textOf(reflect.Indirect(f.value)))
	}
	return texts
}

// textOf is the inverse of parse.
func textOf(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return shortDuration(x)
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return string(text)
		}
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// shortDuration writes 2h instead of 2h0m0s, and 7d instead of 168h0m0s.
func shortDuration(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// WriteYAML writes settings as a file that --config reads; with origin, each line has a comment
// that names its origin. Settings that are not set are written as comments.
func WriteYAML(w io.Writer, settings []Setting, origin bool) error {
	for _, s := range settings {
		line, err := s.yamlLine()
		if err != nil {
			return err
		}
		if origin {
			line = fmt.Sprintf("%-40s # %s", line, strings.TrimSpace(s.Origin+" "+strconv.Quote(s.Place)))
			line = strings.TrimSuffix(line, ` ""`)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// yamlLine is the setting in one line of YAML.
func (s *Setting) yamlLine() (string, error) {
	if len(s.Values) == 0 {
		return "# " + s.Name + ": not set", nil
	}
	var value yaml.Node
	if s.List {
		value.Kind, value.Style = yaml.SequenceNode, yaml.FlowStyle
		for _, v := range s.Values {
			value.Content = append(value.Content, scalar(v))
		}
	} else {
		value = *scalar(s.Values[0])
	}
	text, err := yaml.Marshal(&value)
	if err != nil {
		return "", fmt.Errorf("--%s cannot be written as YAML: %w", s.Name, err)
	}
	line := strings.TrimSpace(string(text))
	if strings.ContainsAny(line, "\r\n") {
		return "", errors.New("--" + s.Name + " contains a line end, which no setting may")
	}
	return s.Name + ": " + line, nil
}

// scalar is a value in YAML, quoted when it could be read as something else or is long enough to be
// wrapped.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text, Style: yaml.DoubleQuotedStyle}
	odd := strings.ContainsFunc(text,
		func(r rune) bool { return !isNameByte(r) && r != ':' && r != '/' })
	if text != "" && !odd && !strings.HasSuffix(text, ":") && !strings.EqualFold(text, "null") {
		n.Style = 0
	}
	return n
}

// Differences lists the settings in which two configurations differ, in the order of declaration.
func Differences(a, b *Config) []string {
	var names []string
	theirs := fieldsOf(b)
	for i, f := range fieldsOf(a) {
		if !reflect.DeepEqual(f.value.Interface(), theirs[i].value.Interface()) {
			names = append(names, f.name)
		}
	}
	return names
}

// LiveBySIGHUP reports whether a running node applies the setting on SIGHUP.
func LiveBySIGHUP(name string) bool {
	for _, f := range fieldsOf(&Config{}) {
		if f.name == name {
			return f.tag.Get("live") == "SIGHUP"
		}
	}
	return false
}
