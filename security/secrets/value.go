package secrets

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what stands for a secret wherever it is printed.
const Redacted = "<redacted>"

// redacted gives a type that holds a secret its printed forms.
type redacted struct{}

// Format writes Redacted for every verb.
func (redacted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// String returns Redacted.
func (redacted) String() string { return Redacted }

// GoString returns Redacted.
func (redacted) GoString() string { return Redacted }

// LogValue returns Redacted.
func (redacted) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText returns Redacted: JSON, YAML, XML and gob write it.
func (redacted) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// Value is one secret. It prints as Redacted in every way, also as a field of another type; only
// Reveal returns it. The zero Value is the empty secret.
type Value struct {
	redacted
	// text is a pointer, because package fmt calls no method of a field that is not exported: it
	// prints the address.
	text *string
}

// NewValue makes a secret of a text.
func NewValue(text string) Value { return Value{text: &text} }

// Reveal returns the secret itself.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}
