package metadata

import (
	"bytes"
	"encoding/json"
)

// The limits of JSON-LD. maxScripts is in bytes, of all scripts of a page.
const (
	maxScripts = 1 << 20
	maxNesting = 64
	maxValues  = 20_000
)

// object is an object of JSON-LD, or an item of microdata in the same form: the names are those of
// schema.org without a prefix, with @type and @id. Values are strings, json.Number, bool, nil,
// []any and object.
type object = map[string]any

// decodeScripts returns the values of JSON-LD scripts. What can be read of a script is kept.
func decodeScripts(scripts [][]byte) []any {
	var all []any
	left := maxValues
	for _, script := range scripts {
		text, n, ok := mend(script, left)
		if !ok {
			continue
		}
		left -= n
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		for len(all) < maxItems {
			var v any
			if dec.Decode(&v) != nil {
				break
			}
			all = append(all, v)
		}
	}
	return all
}

// mend copies the JSON of a script without what is not JSON but stands in scripts of pages:
// comments of HTML and of JavaScript, CDATA marks, commas before a bracket, semicolons, control
// characters, and escapes that do not exist. values counts the values, at least. It reports false
// when there are more than most, or they are nested too deeply.
func mend(script []byte, most int) (text []byte, values int, ok bool) {
	text = make([]byte, 0, len(script))
	depth := 0
	for i := 0; i < len(script); {
		c := script[i]
		switch {
		case c == '"':
			text, i = mendString(text, script, i)
			continue
		case c == '{' || c == '[':
			if n := markLen(script[i:], "[CDATA["); n > 0 {
				i += n
				continue
			}
			if depth++; depth > maxNesting {
				return nil, 0, false
			}
			values++
			text = append(text, c)
		case c == '}' || c == ']':
			if depth == 0 {
				break // of a CDATA mark
			}
			depth--
			text = append(bytes.TrimSuffix(text, []byte(",")), c)
		case c == ',':
			values++
			if depth == 0 {
				text = append(text, '\n')
			} else if bytes.IndexByte([]byte(",{["), text[len(text)-1]) < 0 {
				text = append(text, c)
			}
		case c == '/':
			i += commentLen(script[i:])
			continue
		case c == '<' || c == '!' || c == '>' || c == ';':
		case c == '-' && (i+1 == len(script) || script[i+1] < '0' || script[i+1] > '9'):
		case c <= ' ':
			// White space divides values; it need not be kept where a sign does.
			if depth == 0 {
				text = append(text, '\n')
			}
		default:
			text = append(text, c)
		}
		i++
		if values > most {
			return nil, 0, false
		}
	}
	return text, values, true
}

// markLen is the length of mark if b begins with it.
func markLen(b []byte, mark string) int {
	if bytes.HasPrefix(b, []byte(mark)) {
		return len(mark)
	}
	return 0
}

// commentLen is the length of the comment of JavaScript at the start of b, or of its slash.
func commentLen(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		// A CDATA mark is often hidden behind slashes, with JSON in the same line.
		if n := bytes.IndexAny(b, "\n{["); n >= 0 {
			return n
		}
		return len(b)
	case bytes.HasPrefix(b, []byte("/*")):
		if n := bytes.Index(b, []byte("*/")); n >= 0 {
			return n + len("*/")
		}
		return len(b)
	}
	return 1
}

// mendString copies the string that begins at i, and returns the place behind it. Control
// characters become spaces.
func mendString(text, script []byte, i int) ([]byte, int) {
	text = append(text, '"')
	for i++; i < len(script); i++ {
		c := script[i]
		switch {
		case c == '"':
			return append(text, '"'), i + 1
		case c < ' ':
			text = append(text, ' ')
		case c == '\\' && i+1 < len(script):
			switch next := script[i+1]; {
			case bytes.IndexByte([]byte(`"\/bfnrt`), next) >= 0, next == 'u' && isHex(script[i+2:]):
				text = append(text, c, next)
				i++
			}
		default:
			text = append(text, c)
		}
	}
	return text, len(script)
}

// isHex reports whether b begins with the four digits of an escape.
func isHex(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	for _, c := range b[:4] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}
