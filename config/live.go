package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"crawlnode/crawl"
)

// equal compares two values of a setting, lists as sets.
func (f field) equal(other field) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(f.texts()))),
		slices.Compact(slices.Sorted(slices.Values(other.texts()))))
}

// Change returns settings with changes applied, after the same checks as on the command line. Names
// are those of flags; _ counts as -. The error is a *crawl.FieldErrors that lists everything that
// is wrong.
func Change(
	s *crawl.Settings,
	changes map[string]json.RawMessage,
	version string,
) (crawl.Settings, error) {
	c := ofSettings(s, version)
	before, fields := ofSettings(s, version), map[string]field{}
	for _, f := range fieldsOf(&c) {
		fields[f.name] = f
	}
	wrong, fixed := &crawl.FieldErrors{}, 0
	add := func(name, format string, args ...any) {
		wrong.Fields = append(wrong.Fields,
			crawl.FieldError{Field: name, Detail: fmt.Sprintf(format, args...)})
	}
	named := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		flag := strings.ReplaceAll(name, "_", "-")
		f, known := fields[flag]
		switch {
		case !known:
			add(name, "is not a setting%s", didYouMean(flag))
		case named[flag]:
			add(name, "is given twice")
		case flag == "focus" && c.Focus.keeps(changes[name]):
		case flag == "sites" && c.Sites.keeps(changes[name]):
		case flag == "user-agent" && isText(changes[name], s.UserAgent):
			continue // from the report: a default one still follows the contact
		case f.changeable():
			if err := f.setJSON(changes[name]); err != nil {
				add(name, "%v", err)
			}
		case f.inDocument() && f.setJSON(changes[name]) == nil && f.equal(fieldNamed(&before, flag)):
			// unchanged from the report
		default:
			fixed++
			add(name, "%s", cmp.Or(f.tag.Get("fixed"),
				"is a setting of one node: change the flag where it is started"))
		}
		named[flag] = true
	}
	if len(wrong.Fields) > 0 {
		wrong.Fixed = fixed == len(wrong.Fields)
		return crawl.Settings{}, wrong
	}
	moved := func(flag string) bool {
		return named[flag] && !fields[flag].equal(fieldNamed(&before, flag))
	}
	wrong.Fields = c.liveProblems(moved("contact") || moved("allow-net"))
	if len(wrong.Fields) > 0 {
		return crawl.Settings{}, wrong
	}
	changed := c.Settings(version)
	// otherwise a node of another release would insert its version
	if !moved("contact") && !named["user-agent"] {
		changed.UserAgent = s.UserAgent
	}
	return changed, nil
}

// isText reports whether a JSON value is that text.
func isText(raw json.RawMessage, text string) bool {
	var s *string
	return json.Unmarshal(raw, &s) == nil && s != nil && *s == text
}

// liveProblems lists the problems of the crawl's settings, by field. reach says that where the
// crawl may go, or who answers for it, was changed: only then a missing contact is one.
func (c *Config) liveProblems(reach bool) []crawl.FieldError {
	err := errors.Join(c.validateByTags(), c.validateScope(), c.validatePoliteness(),
		c.validateOutput(),
		c.validateRevisits(), c.validateRender(), c.validateAnswers(), c.validateDocuments(),
		c.validateProxies(), c.validateSites())
	if err == nil && c.Contact == "" && len(c.AllowNet) == 0 && reach {
		err = errors.New(
			"--contact: is required to crawl anything outside --allow-net: give a contact for site owners")
	}
	if err == nil {
		return nil
	}
	var problems []crawl.FieldError
	for line := range strings.SplitSeq(err.Error(), "\n") {
		flag, detail, _ := strings.Cut(strings.TrimPrefix(line, "--"), ": ")
		problems = append(problems,
			crawl.FieldError{Field: strings.ReplaceAll(flag, "-", "_"), Detail: detail})
	}
	return problems
}

func didYouMean(flag string) string {
	if s := Suggest(flag, Changeable()); s != "" {
		return fmt.Sprintf("; did you mean %q?", strings.ReplaceAll(s, "-", "_"))
	}
	return ": crawlnode crawl-config show lists them"
}

func fieldNamed(c *Config, name string) field {
	place, ok := places()[name]
	if !ok {
		panic("BUG: no setting is called " + name)
	}
	return field{name, place.Tag, reflect.ValueOf(c).Elem().FieldByIndex(place.Index)}
}

// places are the fields of Config by the names of their settings, found once: rules for sites ask
// for one at each of their values.
var places = sync.OnceValue(func() map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	var add func(group reflect.Type, above []int)
	add = func(group reflect.Type, above []int) {
		for i := range group.NumField() {
			sf := group.Field(i)
			sf.Index = append(slices.Clone(above), i)
			if _, ok := sf.Tag.Lookup("embed"); ok {
				add(sf.Type, sf.Index)
				continue
			}
			all[settingName(sf)] = sf
		}
	}
	add(reflect.TypeFor[Config](), nil)
	return all
})

// setJSON parses a JSON value into the setting: text as on the command line, a number, true or
// false, a list of texts, or null for the default.
func (f field) setJSON(raw json.RawMessage) error {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("is not a JSON value: %w", err)
	}
	switch v := v.(type) {
	case nil:
		def := fieldNamed(defaults(), f.name)
		f.value.Set(def.value)
		return nil
	case string:
		return f.set(f.split(v))
	case bool:
		return f.set([]string{fmt.Sprint(v)})
	case json.Number:
		return f.set([]string{v.String()})
	case []any:
		if !f.list() {
			return errors.New("takes one value, not a list")
		}
		values := make([]string, len(v))
		for i, x := range v {
			text, ok := x.(string)
			if !ok {
				return errors.New("must be a list of texts")
			}
			values[i] = text
		}
		return f.set(values)
	}
	return errors.New("must be a text, a number, true, false or a list of texts, not an object")
}

func defaults() *Config {
	c := Default()
	return &c
}
