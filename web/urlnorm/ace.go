package urlnorm

import (
	"regexp"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// This file reads host names with labels in punycode ("xn--") that the WHATWG
// parser makes in one place and refuses in another: it writes "≠" as xn--1ch and
// does not read that again. And it refuses labels that are no punycode, which the
// parser lets pass when the rest of the name is ASCII.

// maxLabel bounds a label that is looked at here: decoding takes time with its
// square, and no name in the DNS is longer (RFC 1035, section 2.3.4).
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

// readable reports whether a label in punycode, in lower case, may stand as it
// is: what it decodes to is a name, though perhaps not one in its normal form. A
// label that decodes to something that the standard forbids is not.
func readable(label string) bool {
	name, ok := decode(label)
	if !ok {
		return false
	}
	_, err := whatwg.Parse("http://" + name)
	return err == nil
}

// parseRef parses like the standard's parser, and tries again what that refuses
// with each readable label replaced by another name.
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

// hidden begins the names that stand for labels. A page that writes such a name
// itself names another host than its author may think, but none that it could not name.
const hidden = "hidden-label-"

// authority finds the host of an absolute reference, or of one that begins
// with two slashes, as the standard does: backslashes are slashes, and user info
// ends at the last @.
var authority = regexp.MustCompile(`^(?i:https?:)?[/\\]{2,}(?:[^/\\?#]*@)?([^/\\?#@:]*)`)

// hideLabels replaces the readable labels of the host of ref, and appends them.
func hideLabels(ref string, labels *[]string) string {
	if !hasPunycode(ref) {
		return ref // nearly every reference that is refused: the pattern costs more than the parser
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

// decodable reports whether each label in the host of ref that says it is punycode
// is. The parser leaves some out of the name, as if they were not there.
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
			continue // the parser refuses it, or reads it first
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

// stable reports whether a host with labels in punycode is read as it stands.
func stable(host string) bool {
	_, again, err := parseRef("", "http://"+host)
	return err == nil && again == host
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
