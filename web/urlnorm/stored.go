package urlnorm

import (
	"fmt"
	"regexp"
	"strings"
)

// ParseStored parses a URL that a node has stored or sent: a canonical form, or what an earlier
// version accepted as one. It keeps the form as it is, so that a record stays under its key.
// Earlier versions accepted an unescaped '^' in the path, and labels in the host that begin with
// "xn--" and are not punycode. Such a URL differs from what Parse makes of its text. What is
// resolved against it is canonical, except for the host.
func ParseStored(form string) (URL, error) {
	u, err := Parse(form)
	if err == nil && u.s == form {
		return u, nil
	}
	if _, fragment, ok := strings.Cut(form, "#"); ok {
		if routed, ok := storedRoute(form, fragment); ok {
			return routed, nil
		}
	} else if earlier, ok := earlierForm(form); ok {
		return earlier, nil
	}
	if err == nil {
		err = fmt.Errorf("%w: %q is not canonical", ErrInvalid, short(form))
	}
	return URL{}, err
}

// storedForm splits a form: scheme, host, port, path and query.
var storedForm = regexp.MustCompile(`^(https?://)([^/:\[\]]+|\[[^/]*\])(:[0-9]+)?(/[^?]*)(\?.*)?$`)

// earlierForm makes the URL of a form that becomes canonical once the parts that only earlier
// versions allowed are corrected.
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
	mended := part(1) + strings.Join(labels, ".") + part(3) + strings.ReplaceAll(part(4), "^", "%5E") +
		part(5)
	if u, err := Parse(mended); err != nil || u.s != mended {
		return URL{}, false
	}
	return URL{
		s:         form,
		hostStart: uint16(at[4]),
		hostEnd:   uint16(at[5]),
		pathStart: uint16(at[8]),
	}, true
}
