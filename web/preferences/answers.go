package preferences

import (
	"strconv"
	"strings"
	"time"
)

// At is what holds at a time.
func (a Answers) At(t time.Time) [NumPurposes]Answer {
	if a.SearchUntil != 0 && t.Unix() >= a.SearchUntil {
		a.Of[Search] = No
	}
	return a.Of
}

// Refused are those of some purposes to which the owner says no at a time.
func (a Answers) Refused(of Purposes, t time.Time) (no Purposes) {
	for p, answer := range a.At(t) {
		if answer == No {
			no |= 1 << p
		}
	}
	return no & of
}

// NothingSaid stands for no answer where "" would mean that it is not known: with a 304, which
// takes back what was said before. ParseAnswers passes over it.
const NothingSaid = "-"

// searchUntil is the name of Answers.SearchUntil in text.
const searchUntil = "search-until"

// String writes the answers in the form of a Content-Usage dictionary, such as "search=y,
// ai-train=n"; "": nothing is said. ParseAnswers reads it.
func (a Answers) String() string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + value)
	}
	for p, answer := range a.Of {
		switch answer {
		case Yes:
			add(Names[p], "y")
		case No:
			add(Names[p], "n")
		}
	}
	if a.SearchUntil != 0 {
		add(searchUntil, strconv.FormatInt(a.SearchUntil, 10))
	}
	return b.String()
}

// ParseAnswers reads what String writes. What it does not know is passed over.
func ParseAnswers(s string) (a Answers) {
	for member := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		if name == searchUntil {
			a.SearchUntil, _ = strconv.ParseInt(value, 10, 64) // 0, which is none, if it is damaged
			continue
		}
		if p, known := purposeOf(name); known {
			switch value {
			case "y":
				a.Of[p] = Yes
			case "n":
				a.Of[p] = No
			}
		}
	}
	return a
}

// add takes what another protocol or level says: a no wins, a yes counts where nobody says no.
func (a *Answers) add(other Answers) {
	for p, answer := range other.Of {
		a.Of[p] = max(a.Of[p], answer)
	}
	if u := other.SearchUntil; u != 0 && (a.SearchUntil == 0 || u < a.SearchUntil) {
		a.SearchUntil = u
	}
}
