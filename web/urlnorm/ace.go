package urlnorm

import (
	"regexp"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// This file reads host names with labels in punycode ("xn--") that the WHATWG parser produces in
// one place and refuses in another: it writes "≠" as xn--1ch and does not read that again. It also
// refuses labels that are not valid punycode, which the parser accepts when the rest of the name is
// ASCII.

// maxLabel bounds the labels that are decoded here. Decoding takes time quadratic in the length,
// and no name in the DNS is longer (RFC 1035, section 2.3.4).
const maxLabel = 253

var aceLabel = regexp.MustCompile(`^xn--[a-z0-9_-]*$`)

// decode returns the name that a label in punycode, in lower case, stands for. A
// label that cannot be decoded, or that decodes to nothing or to ASCII, stands for
// none (UTS #46, section 4, processing step 4).
func decode(label string) (name string, ok bool) {
	if len(label) > maxLabel || !aceLabel.MatchString(label) {
		return "", false
	}
	name, err := idna.Punycode.ToUnicode(label)
	return name, err == nil && !isASCII(name)
}

// readable reports whether a label in punycode, in lower case, may stay as it is: it decodes to a
// name, though perhaps not to one in normal form. A label that decodes to something that the
// standard forbids is not readable.
func readable(label string) bool {
	name, ok := decode(label)
	if !ok {
		return false
	}
	_, err := whatwg.Parse("http://" + name)
	return err == nil
}

// parseRef parses like the standard's parser. It retries what the parser refuses, with each
// readable label replaced by a placeholder name.
func parseRef(base, ref string) (p *whatwg.Url, host string, err error) {
	if p, err = whatwg.ParseRef(base, ref); err == nil {
		return p, p.Hostname(), nil
	}
	var labels []string
	plainBase, plainRef := hideLabels(base, &labels), hideLabels(ref, &labels)
	if len(labels) == 0 {
		return nil, "", err
	}
	if p, err = whatwg.ParseRef(plainBase, plainRef); err != nil {
		return nil, "", err
	}
	parts := strings.Split(p.Hostname(), ".")
	for i, part := range parts {
		if n, ok := strings.CutPrefix(part, hidden); ok {
			if k, err := strconv.Atoi(n); err == nil && k < len(labels) {
				parts[i] = labels[k]
			}
		}
	}
	return p, strings.Join(parts, "."), nil
}

// hidden is the prefix of the placeholder names. A page that writes such a name itself names
// another host than its author may expect, but none that it could not have named directly.
const hidden = "hidden-label-"

// authority finds the host of an absolute reference, or of one that begins
// with two slashes, as the standard does: backslashes are slashes, and user info
// ends at the last @.
var authority = regexp.MustCompile(`^(?i:https?:)?[/\\]{2,}(?:[^/\\?#]*@)?([^/\\?#@:]*)`)

// hideLabels replaces the readable labels of the host of ref, and appends them.
func hideLabels(ref string, labels *[]string) string {
	if !hasPunycode(ref) {
		return ref // most refused references end here: the pattern costs more than the parser
	}
	at := authority.FindStringSubmatchIndex(ref)
	if at == nil {
		return ref
	}
	parts := strings.Split(ref[at[2]:at[3]], ".")
	for i, part := range parts {
		if label := strings.ToLower(part); readable(label) {
			parts[i] = hidden + strconv.Itoa(len(*labels))
			*labels = append(*labels, label)
		}
	}
	return ref[:at[2]] + strings.Join(parts, ".") + ref[at[3]:]
}

// decodable reports whether each label in the host of ref that begins with "xn--" is valid
// punycode. The parser drops some invalid ones silently.
func decodable(ref string) bool {
	if !hasPunycode(ref) {
		return true
	}
	host := ""
	if at := authority.FindStringSubmatch(ref); at != nil {
		host = strings.ToLower(at[1])
	}
	for label := range strings.SplitSeq(host, ".") {
		if !strings.HasPrefix(label, "xn--") || !isASCII(label) || strings.Contains(label, "%") {
			continue // the parser refuses it, or decodes it first
		}
		if _, ok := decode(label); !ok {
			return false
		}
	}
	return true
}

// hasPunycode reports whether "xn--", in either case, is anywhere in s.
func hasPunycode(s string) bool {
	for i := 2; i < len(s); i++ {
		if s[i] == '-' && s[i-1]|0x20 == 'n' && s[i-2]|0x20 == 'x' && strings.HasPrefix(s[i:], "--") {
			return true
		}
	}
	return false
}

// stable reports whether a host with labels in punycode parses to itself. A long label that the
// parser has written itself may be longer than those that are read.
func stable(host string) bool {
	_, again, err := parseRef("", "http://"+host)
	return err == nil && again == host && decodable("http://"+host)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
