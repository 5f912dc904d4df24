package urlnorm

import (
	"fmt"
	"regexp"
	"strings"
)

// ParseStored reads a URL that a node has stored or sent: a canonical form, or what
// an earlier version took for one. It keeps such a form as it is, so that a record
// stays under its key: a '^' in the path that is not escaped, and labels in the host
// that begin with "xn--" and are no punycode. Such a URL is another one than what
// Parse makes of its text. Whatever is resolved against it is canonical, but for the
// host.
func ParseStored(form string) (URL, error) {
	u, err := Parse(form)
	if err == nil && u.s == form {
		return u, nil
	}
	if earlier, ok := earlierForm(form); ok {
		return earlier, nil
	}
	if err == nil {
		err = fmt.Errorf("%w: %q is not canonical", ErrInvalid, short(form))
	}
	return URL{}, err
}

// storedForm takes a form apart: scheme, host, port, path and query.
var storedForm = regexp.MustCompile(`^(https?://)([^/:\[\]]+|\[[^/]*\])(:[0-9]+)?(/[^?]*)(\?.*)?$`)

// earlierForm makes the URL of a form that becomes canonical when what earlier
// versions allowed is mended.
func earlierForm(form string) (URL, bool) {
	at := storedForm.FindStringSubmatchIndex(form)
	if at == nil || len(form) > MaxLen {
		return URL{}, false
	}
	part := func(n int) string {
		if at[2*n] < 0 {
			return ""
		}
		return form[at[2*n]:at[2*n+1]]
	}
	labels := strings.Split(part(2), ".")
	for i, label := range labels {
		if _, ok := decode(label); !ok && aceLabel.MatchString(label) {
			labels[i] = "x"
		}
	}
	mended := part(1) + strings.Join(labels, ".") + part(3) + strings.ReplaceAll(part(4), "^", "%5E") + part(5)
	if u, err := Parse(mended); err != nil || u.s != mended {
		return URL{}, false
	}
	return URL{s: form, hostStart: uint16(at[4]), hostEnd: uint16(at[5]), pathStart: uint16(at[8])}, true
}
