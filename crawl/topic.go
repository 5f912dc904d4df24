package crawl

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Topic is the model by which a focused crawl judges pages and links (package focus). It is part of
// the settings, so that every node has it, and does not change once it is made.
type Topic struct {
	Name  string `json:"name"`  // of the file that it was read from, without folder
	Model []byte `json:"model"` // as the file has it
}

// TopicPrefix begins the text of a topic in a change of settings: "focus-model:NAME:BASE64".
const TopicPrefix = "focus-model:"

// Text is the topic as one text, model and all; "" for nil.
func (t *Topic) Text() string {
	if t == nil {
		return ""
	}
	return TopicPrefix + t.Name + ":" + base64.StdEncoding.EncodeToString(t.Model)
}

// String identifies the topic for people: its name and the beginning of the SHA-256 of its file; ""
// for nil.
func (t *Topic) String() string {
	if t == nil {
		return ""
	}
	sum := sha256.Sum256(t.Model)
	return fmt.Sprintf("%s (sha256 %s)", t.Name, hex.EncodeToString(sum[:8]))
}

// Equal reports whether both judge alike.
func (t *Topic) Equal(o *Topic) bool {
	if t == nil || o == nil {
		return t == o
	}
	return bytes.Equal(t.Model, o.Model)
}

// ParseTopic is the inverse of Text, for a text that begins with TopicPrefix.
func ParseTopic(text string) (*Topic, error) {
	name, model, ok := strings.Cut(strings.TrimPrefix(text, TopicPrefix), ":")
	b, err := base64.StdEncoding.DecodeString(model)
	if !ok || name == "" || err != nil || len(b) == 0 {
		return nil, fmt.Errorf("is not %sNAME:BASE64, with the file that focus train has written",
			TopicPrefix)
	}
	return &Topic{Name: name, Model: b}, nil
}

// ShortTopic replaces the text of a topic by what identifies it; other texts stay as they are.
func ShortTopic(text string) string {
	if !strings.HasPrefix(text, TopicPrefix) {
		return text
	}
	t, err := ParseTopic(text)
	if err != nil {
		return TopicPrefix + "(not readable)"
	}
	return t.String()
}
