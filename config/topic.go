package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"crawlnode/crawl"
	"crawlnode/focus"
)

// Topic is the setting --focus: the model of a topic, or the file that it is to be read from. The
// zero value is none.
type Topic struct {
	*crawl.Topic
	path   string // not read yet
	broken bool   // it could not be read, as was told
}

// TopicFrom reads a model from a file that focus train has written. The error names the file.
func TopicFrom(path string) (*crawl.Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: give a file that crawlnode focus train has written", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, focus.MaxSize+1))
	if err != nil {
		return nil, err
	}
	if _, err := focus.Decode(b); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	// A name with these characters could not be told from what stands around it.
	return &crawl.Topic{Name: strings.Map(func(r rune) rune {
		if isNameByte(r) {
			return r
		}
		return '_'
	}, filepath.Base(path)), Model: b}, nil
}

// UnmarshalText takes the path of a file, which read reads, or the text of a topic as
// crawl.Topic.Text writes it, or "" for none.
func (t *Topic) UnmarshalText(text []byte) error {
	*t = Topic{}
	switch s := string(text); {
	case s == "":
	case strings.HasPrefix(s, crawl.TopicPrefix):
		topic, err := crawl.ParseTopic(s)
		if err != nil {
			return err
		}
		if _, err := focus.Decode(topic.Model); err != nil {
			return fmt.Errorf("%q %w", topic.Name, err)
		}
		if strings.ContainsFunc(topic.Name, func(r rune) bool { return !isNameByte(r) }) {
			return fmt.Errorf("%q is not a name: use letters, digits, '-', '_' and '.'", topic.Name)
		}
		t.Topic = topic
	default:
		t.path = s
	}
	return nil
}

// MarshalText is the inverse.
func (t Topic) MarshalText() ([]byte, error) {
	if t.path != "" {
		return []byte(t.path), nil
	}
	return []byte(t.Text()), nil
}

// read reads the file, if one was named.
func (t *Topic) read() error {
	if t.path == "" {
		return nil
	}
	topic, err := TopicFrom(t.path)
	if *t = (Topic{Topic: topic, broken: err != nil}); err != nil {
		return fmt.Errorf("--focus: %w", err)
	}
	return nil
}

// keeps reports whether a change of the setting names what is set: the report's text.
func (t *Topic) keeps(raw json.RawMessage) bool {
	var text string
	return json.Unmarshal(raw, &text) == nil && text == t.String()
}

// validateFocus requires a fraction, and a model where it has a meaning.
func (c *Config) validateFocus() error {
	switch {
	case !(c.FocusMin >= 0 && c.FocusMin <= 1): // NaN too
		return fmt.Errorf("--focus-min: %v must be between 0 (every page passes its links on) and 1",
			c.FocusMin)
	case c.FocusMin > 0 && c.Focus == Topic{}:
		return errors.New(
			"--focus-min: needs a topic: give its model with --focus FILE, " +
				"which crawlnode focus train makes")
	case c.Focus.Topic == nil && c.Focus.path != "":
		return fmt.Errorf("--focus: %q names a file on one machine, "+
			"and the setting is the whole cluster's: crawlnode crawl-config set focus=FILE sends the "+
			"model itself", c.Focus.path)
	}
	return nil
}
