package codes

import "strings"

// Find returns the entries of a code, in any spelling of case, with - and blanks for _.
func Find(code string) []Entry {
	code = Normal(code)
	var found []Entry
	for _, e := range Entries {
		if Normal(e.Code) == code {
			found = append(found, e)
		}
	}
	return found
}

// Normal is a code as the table has it.
func Normal(code string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(code)))
}

// Meaning is what a code of a kind says, without marks; "" for a code that the table does not have.
func Meaning(kind Kind, code string) string {
	for _, e := range Entries {
		if e.Kind == kind && e.Code == code {
			return Plain(e.Meaning)
		}
	}
	return ""
}

// Plain takes the marks of code out of a text.
func Plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// Anchor names an entry in docs/codes.md.
func (e *Entry) Anchor() string {
	for _, g := range Groups {
		if g.Kind == e.Kind {
			return g.Prefix + e.Code
		}
	}
	return e.Code
}
