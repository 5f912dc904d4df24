package traps

import (
	"regexp"
	"strconv"
	"strings"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// minSeries is how many novel pages begin a list that is to be kept up to its end.
const minSeries = 3

// excluding returns the pattern that leaves a family out: the plainest that matches an example of
// each of its shapes, and none of a shape outside that is novel. A family of one shape with one
// number, whose first pages are novel and whose later ones are not, is cut where it turns barren.
// Nil rules: no pattern can.
func (f family) excluding(origin string, shapes map[string]*counts) (string, *scope.Rules) {
	var texts []string
	if c := shapes[f.part]; f.kind == byShape && c != nil && c.cut() {
		texts = append(texts, "regex:^"+regexp.QuoteMeta(origin)+
			expression(f.part, "("+atLeast(c.firstBarren)+")")+"$")
	}
	texts = append(texts, f.texts(origin, shapes)...)
	for _, text := range texts {
		r, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: []string{text}})
		if err == nil && f.fits(r, shapes) {
			return text, r
		}
	}
	return "", nil
}

// cut reports whether the shape is a list with an end: one number, below which all pages are novel
// and from which on all are barren.
func (c *counts) cut() bool {
	key := c.shape.key()
	return c.novel >= minSeries && c.lastNovel > 0 && c.firstBarren > c.lastNovel &&
		strings.Count(key, string(number)) == 1 && !strings.ContainsRune(key, token)
}

// texts are the patterns of a family, the plainest first, the most exact last.
func (f family) texts(origin string, shapes map[string]*counts) []string {
	base := origin + globbed(f.path)
	exact := "regex:^" + regexp.QuoteMeta(origin) + expression(f.path, "[0-9]+")
	name, _, _ := strings.Cut(f.part, "=")
	quoted := regexp.QuoteMeta(name)
	switch f.kind {
	case byFolder:
		return []string{base + "*", exact + ".+"}
	case byQuery:
		return []string{base + "?*", exact + `\?.*`}
	case byParameter:
		return []string{base + "?" + name + "=*", base + "?*" + name + "=*",
			exact + `\?(.*&)?` + quoted + "="}
	case byValue:
		return []string{base + "?" + f.part, base + "?" + f.part + "*", base + "?*" + f.part + "*",
			exact + `\?(.*&)?` + regexp.QuoteMeta(f.part) + "(&|$)"}
	case bySession:
		return []string{origin + "/*?" + name + "=*", origin + "/*" + name + "=*",
			"regex:^" + regexp.QuoteMeta(origin) + "/.*[?&;]" + quoted + "="}
	}
	texts := []string{base}
	if c := shapes[f.part]; c != nil && c.shape.query {
		texts = []string{base + "?" + globbedQuery(c.shape.params)}
	}
	return append(texts, "regex:^"+regexp.QuoteMeta(origin)+expression(f.part, "[0-9]+")+"$")
}

// fits reports whether rules exclude the family and nothing novel besides.
func (f family) fits(r *scope.Rules, shapes map[string]*counts) bool {
	for _, c := range shapes {
		inside := f.has(&c.shape)
		for _, example := range []string{c.example, c.last} {
			u, err := urlnorm.ParseRouted(example)
			if err != nil {
				continue
			}
			out := r.Excludes(u)
			if inside && example == c.last && !out || !inside && c.novel > 0 && out {
				return false
			}
		}
	}
	return true
}

// globbed has "*" for placeholders.
func globbed(masked string) string {
	return strings.NewReplacer(string(number), "*", string(token), "*").Replace(masked)
}

// globbedQuery has "*" for each value with a placeholder.
func globbedQuery(params []string) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		name, value, ok := strings.Cut(p, "=")
		if ok && strings.ContainsAny(value, string(number)+string(token)) {
			b.WriteString(name + "=*")
		} else {
			b.WriteString(globbed(p))
		}
	}
	return b.String()
}

// expression is a shape as a regular expression, with digits for its numbers.
func expression(masked, digits string) string {
	var b strings.Builder
	for rest := masked; rest != ""; {
		at := strings.IndexAny(rest, string(number)+string(token))
		if at < 0 {
			b.WriteString(regexp.QuoteMeta(rest))
			break
		}
		b.WriteString(regexp.QuoteMeta(rest[:at]))
		if rest[at] == number {
			b.WriteString(digits)
		} else {
			b.WriteString("[^/?&;=]+")
		}
		rest = rest[at+1:]
	}
	return b.String()
}

// atLeast is a regular expression for the decimal numbers from n on, without leading zeros.
func atLeast(n int) string {
	text := strconv.Itoa(n)
	all := text
	for i := len(text) - 1; i >= 0; i-- {
		if d := text[i]; d < '9' {
			all += "|" + text[:i] + "[" + string(d+1) + "-9]" + digits(len(text)-1-i)
		}
	}
	return all + "|[1-9]" + digits(len(text)) + "[0-9]*"
}

func digits(n int) string {
	if n == 0 {
		return ""
	}
	return "[0-9]{" + strconv.Itoa(n) + "}"
}

// onlyNumber is the number of a URL whose shape has one; 0: it has none, or one with leading zeros.
func onlyNumber(s *shape, u urlnorm.URL) int {
	key := s.key()
	at := strings.IndexByte(key, number)
	if at < 0 || strings.Count(key, string(number)) != 1 || strings.ContainsRune(key, token) {
		return 0
	}
	full := pathAndMore(u)
	end := at
	for end < len(full) && isDigit(full[end]) {
		end++
	}
	n, err := strconv.Atoi(full[min(at, len(full)):end])
	if err != nil || full[at] == '0' {
		return 0
	}
	return n
}
