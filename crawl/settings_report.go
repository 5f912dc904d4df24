package crawl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrChanged is inside an error when the settings have changed since they were read. The API
// answers 412.
var ErrChanged = errors.New("the settings have changed meanwhile")

// CrawlReport is the document of GET and PUT /api/v1/crawl.
type CrawlReport struct {
	State        string  `json:"state"`         // CrawlIdle...
	FinishReason *string `json:"finish_reason"` // FinishExhausted...; null unless it is finished
	// Version names this state of the crawl document. It is also the ETag, and equal on all members
	// that have the last change.
	Version  string         `json:"version"`
	Settings SettingsReport `json:"settings"`
	// Untold names the members that did not confirm a change in time. They follow as soon as they
	// can be reached; until then they continue as before.
	Untold []string `json:"untold"`
}

// SettingsReport has the crawl's settings, with the names and values of the command line, but _ for
// -. In JSON it is one object, with its settings in their order. Package config makes it.
type SettingsReport []SettingValue

// SettingValue is one setting of a SettingsReport.
type SettingValue struct {
	Name string
	// Value is a string, a bool, a json.Number, a []string that is not nil, or nil: not set.
	Value any
}

// Text is the value of a setting as one text; "" when it is not set or not there.
func (r SettingsReport) Text(name string) string {
	for _, s := range r {
		if s.Name == name && s.Value != nil {
			return fmt.Sprint(s.Value)
		}
	}
	return ""
}

// List is the value of a setting that is a list; nil when it is none.
func (r SettingsReport) List(name string) []string {
	for _, s := range r {
		if list, ok := s.Value.([]string); ok && s.Name == name {
			return list
		}
	}
	return nil
}

// MarshalJSON writes the settings as one object.
func (r SettingsReport) MarshalJSON() ([]byte, error) {
	object := []byte{'{'}
	for i, s := range r {
		if i > 0 {
			object = append(object, ',')
		}
		name, err := json.Marshal(s.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(s.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		object = append(append(append(object, name...), ':'), value...)
	}
	return append(object, '}'), nil
}

// UnmarshalJSON is the inverse.
func (r *SettingsReport) UnmarshalJSON(object []byte) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("the settings are no JSON object"), err)
	}
	*r = SettingsReport{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		value, err := settingValue(raw)
		if err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		*r = append(*r, SettingValue{fmt.Sprint(name), value})
	}
	return nil
}

// settingValue reads a value in one of the forms of SettingValue.Value.
func settingValue(raw json.RawMessage) (any, error) {
	if list := []string{}; raw[0] == '[' {
		err := json.Unmarshal(raw, &list)
		return list, err
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, ok := value.(map[string]any); ok {
		return nil, errors.New("a setting is no object")
	}
	return value, nil
}

// CrawlChange is the body of PUT /api/v1/crawl: the named settings change and the others stay. A
// CrawlReport with other settings is one: what it says of the crawl's state is compared, and never
// set.
type CrawlChange struct {
	// Version, if not "", is the version of the document that the change is based on; any other one
	// refuses the change. The header If-Match has the same meaning.
	Version string `json:"version,omitempty"`
	// Settings holds values by the names of SettingsReport: texts as on the command
	// line, numbers, true or false, lists of texts. null is the flag's default.
	Settings map[string]json.RawMessage `json:"settings"`
	// State and FinishReason, if they are not empty, must be those of the crawl.
	State        string  `json:"state,omitempty"`
	FinishReason *string `json:"finish_reason,omitempty"`
	// Untold is ignored: it says what became of an earlier change.
	Untold []string `json:"untold,omitempty"`
}

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"` // what is wrong and what to do
}

// FieldErrors lists everything that is wrong with a request.
type FieldErrors struct {
	Fields []FieldError
	// Fixed: the request is valid, but the setting cannot change while the nodes run. The API
	// answers 409, otherwise 400.
	Fixed bool
}

func (e *FieldErrors) Error() string {
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = f.Field + ": " + f.Detail
	}
	return strings.Join(lines, "\n")
}
