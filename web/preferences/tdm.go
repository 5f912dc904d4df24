package preferences

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"crawlnode/web/htmlparse"
	"crawlnode/web/robots"
)

// TDMPath is where a site has its file of TDMRep.
const TDMPath = "/.well-known/tdmrep.json"

// MaxTDMFile is how many bytes of the file are read.
const MaxTDMFile = 256 << 10

// TDMRule is one rule of tdmrep.json.
type TDMRule struct {
	Location string // a pattern, as robots.txt has them
	Reserved string // "0", "1", or "": it does not say
	Policy   string // URL, or ""

	pattern robots.Pattern // of Location
}

// The bounds of a file's rules.
const (
	maxTDMRules  = 1000
	maxTDMString = 1 << 10
)

// ParseTDM reads a file: an array of rules. What is not as it must be is passed over, since a file
// that cannot be read is as good as none.
func ParseTDM(file []byte) (rules []TDMRule) {
	var list []json.RawMessage
	if len(file) > 2*MaxTDMFile || !utf8.Valid(file) || json.Unmarshal(file, &list) != nil {
		return nil
	}
	for _, text := range list[:min(len(list), maxTDMRules)] {
		var r struct {
			Location    any `json:"location"`
			Reservation any `json:"tdm-reservation"`
			Policy      any `json:"tdm-policy"`
		}
		if json.Unmarshal(text, &r) != nil {
			continue
		}
		location, _ := r.Location.(string)
		policy, _ := r.Policy.(string)
		if location == "" || len(location) > maxTDMString || len(policy) > maxTDMString {
			continue
		}
		rule := TDMRule{Location: location, Policy: policy, pattern: robots.PatternOf(location)}
		switch v := r.Reservation.(type) {
		case float64:
			rule.Reserved = reservationOf(strconv.FormatFloat(v, 'f', -1, 64))
		case string: // as some files have it
			rule.Reserved = reservationOf(strings.TrimSpace(v))
		}
		rules = append(rules, rule)
	}
	return rules
}

// reservationOf is a value of tdm-reservation; others are errors, and as good as none.
func reservationOf(v string) string {
	if v == "0" || v == "1" {
		return v
	}
	return ""
}

// CompactTDM is a file of at most MaxTDMFile bytes without what is not read, at most twice as long
// for its escapes; nil: it says nothing. ParseTDM reads it.
func CompactTDM(file []byte) []byte {
	rules := ParseTDM(file)
	if len(rules) == 0 {
		return nil
	}
	list := make([]map[string]any, 0, len(rules))
	for _, r := range rules {
		m := map[string]any{"location": r.Location}
		if r.Reserved != "" {
			m["tdm-reservation"], _ = strconv.Atoi(r.Reserved)
		}
		if r.Policy != "" {
			m["tdm-policy"] = r.Policy
		}
		list = append(list, m)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // it would make a hostile file six times as long
	if err := out.Encode(list); err != nil {
		panic("BUG: strings cannot be written as JSON: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// tdmStatements are those of the first rule that matches a URL: the most specific match is the
// first in the file's order.
func tdmStatements(rules []TDMRule, url string) (list []Statement) {
	if len(rules) == 0 {
		return nil
	}
	path := robots.PathOf(url)
	for _, r := range rules {
		if !r.pattern.Matches(path) {
			continue
		}
		if r.Reserved != "" {
			list = append(list, Statement{TDMFile, htmlparse.MetaReservation, r.Reserved})
		}
		if r.Policy != "" {
			list = append(list, Statement{TDMFile, htmlparse.MetaPolicy, r.Policy})
		}
		return list
	}
	return nil
}
