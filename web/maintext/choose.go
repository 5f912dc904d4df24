package maintext

import (
	"strings"

	"github.com/abadojack/whatlanggo"
)

const (
	// fair is the share of the text that a part must have to be the only one that counts.
	fair = 0.25
	// least is the share of the text below which a rule has thrown too much away.
	least = 0.12
	// tooLinked is the share of links from which a short block is a menu, if it has no more than
	// fewUnlinked bytes between them: names and signs, not a sentence.
	tooLinked   = 0.6
	fewUnlinked = 16
	// paragraph is the number of bytes from which a block is a text whatever its links.
	paragraph = 300
)

// rule says which kinds of places are left out.
type rule struct{ hidden, aside, named, notMain bool }

// keeps reports whether what is in a place is kept.
func (r rule) keeps(p place) bool {
	return !(r.hidden && p.hidden || r.aside && p.aside || r.named && p.named ||
		r.notMain && !p.main)
}

// choice says what of a page is kept, and how much.
type choice struct {
	// of keeps some blocks, by a rule of their places.
	of     func(all []block) (kept []block, r rule)
	text   int // bytes that are kept
	read   int // bytes that are read of it: as much of a page may be boilerplate
	blocks int
}

var (
	mainPart  = choice{of: choose, text: MaxText, read: 2 * MaxText, blocks: MaxBlocks}
	wholePage = choice{of: everything, text: MaxWhole, read: MaxWhole, blocks: MaxWholeBlocks}
)

// everything keeps the blocks that can be seen.
func everything(all []block) (kept []block, r rule) {
	kept, r.hidden = narrower(all, 0, func(b block) bool { return !b.place.hidden })
	return kept, r
}

// choose keeps the blocks that are the main text. The rule is that of their places; a place that it
// keeps may also have blocks of links that are left out.
func choose(all []block) (kept []block, r rule) {
	kept, r.hidden = narrower(all, 0, func(b block) bool { return !b.place.hidden })
	kept, r.aside = narrower(kept, least, func(b block) bool { return !b.place.aside })
	kept, r.named = narrower(kept, least, func(b block) bool { return !b.place.named })
	kept, r.notMain = narrower(kept, fair, func(b block) bool { return b.place.main })
	kept, _ = narrower(kept, least, func(b block) bool {
		return b.heading || b.len() >= paragraph || b.len()-int(b.links) > fewUnlinked ||
			float64(b.links) < tooLinked*float64(b.len())
	})
	return kept, r
}

// narrower keeps what f keeps, if that is a share of the text, and reports whether it is.
func narrower(blocks []block, share float64, f func(block) bool) (kept []block, applied bool) {
	kept = keep(blocks, f)
	if size(kept) == 0 || float64(size(kept)) < share*float64(size(blocks)) {
		return blocks, false
	}
	return kept, true
}

func keep(blocks []block, f func(block) bool) []block {
	out := make([]block, 0, len(blocks))
	for _, b := range blocks {
		if f(b) {
			out = append(out, b)
		}
	}
	return out
}

func size(blocks []block) int {
	n := 0
	for _, b := range blocks {
		n += b.len()
	}
	return n
}

const (
	// sample is how much text is looked at for its language, enough how much there must be.
	sample, enough = 2 << 10, 120
)

// languageOf is the language of a text that is declared, or read from it.
func languageOf(declared, text string) (code string, detected bool) {
	code = strings.ToLower(strings.TrimSpace(declared))
	if i := strings.IndexAny(code, "-_,; "); i >= 0 {
		code = code[:i]
	}
	if len(code) != 2 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		code = ""
	}
	text = middle(text)
	if code != "" && (len(text) < enough || !foreign(code, text)) {
		return code, false
	}
	if len(text) < enough {
		return "", false
	}
	info := whatlanggo.Detect(text)
	found := info.Lang.Iso6391()
	if found == "" || !info.IsReliable() {
		return code, false
	}
	return found, true
}

// middle is a sample of a text: not its beginning, which may be a list of names.
func middle(text string) string {
	if len(text) <= sample {
		return text
	}
	from := (len(text) - sample) / 4
	return strings.ToValidUTF8(text[from:from+sample], "")
}

// foreign reports whether most letters of the text are of a script in which the language is not
// written, for the languages that are written in Latin letters.
func foreign(code, text string) bool {
	if !strings.Contains(" en de fr es it pt nl sv da no nb nn fi hu ro pl cs sk tr vi id ca eu gl "+
		"et lv lt hr sl is ga cy ", " "+code+" ") {
		return false
	}
	latin, other := 0, 0
	for _, r := range text {
		switch {
		case r < 0x80 && (r|0x20 < 'a' || r|0x20 > 'z'):
		case r < 0x0250, r >= 0x1E00 && r < 0x2E80:
			latin++
		default:
			other++
		}
	}
	return other > latin
}
