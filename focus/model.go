package focus

import "math"

const (
	// MaxText bounds the bytes of a page's text that are read.
	MaxText = 64 << 10
	// maxAnchor and maxURL bound those of a link.
	maxAnchor = 256
	maxURL    = 512
	// inherited is how much a page's score weighs beside that of a link on it: links of pages on
	// the topic lead to the topic more often than others, but what a link says of itself counts more.
	inherited = 0.5
	// surest bounds the logarithm of the odds that one score gives.
	surest = 4
)

// Model is a topic. It does not change, and any goroutine may use it.
type Model struct {
	weights    []int8  // by place
	scale      float64 // of a weight
	page, link curve
	info       Info
}

// curve makes a score of a margin.
type curve struct{ slope, intercept float64 }

func (c curve) logit(margin float64) float64 {
	return max(min(c.slope*margin+c.intercept, surest), -surest)
}

// Info is what a model says of itself.
type Info struct {
	// Like and Unlike count the pages that it was made from.
	Like, Unlike int
	// Accuracy and AUC were measured on pages that were not learnt from, LinkAUC on their titles and
	// addresses; both sets count the same. Accuracy is the share on the right side of 0.5, AUC the
	// probability that a page of the topic has the higher score of two.
	Accuracy, AUC, LinkAUC float64
	// Weights counts the places with a weight.
	Weights int
	// For and Against are the words and pairs that count most. Another word may share the place of
	// one of them.
	For, Against []string
}

// Info describes the model.
func (m *Model) Info() Info { return m.info }

// Score is how well a page fits the topic, from 0 to 1; 0.5 for a page without words.
func (m *Model) Score(title string, text []byte) float64 {
	return sigmoid(m.pageLogit(title, text))
}

// LinkScore is how well a link fits by itself, from 0 to 1, from the words of its text and its
// address; 0.5 when it has none.
func (m *Model) LinkScore(anchor, url string) float64 {
	return sigmoid(m.linkLogit(anchor, url))
}

// Follow is how strongly a link is followed that stands on a page with a score, from 0 to 1.
func (m *Model) Follow(page float64, anchor, url string) float64 {
	page = max(min(page, 1), 0)
	own := math.Log(max(page, 1e-9) / max(1-page, 1e-9))
	return sigmoid(inherited*max(min(own, surest), -surest) + m.linkLogit(anchor, url))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// seen is a set of features.
type seen [features / 64]uint64

// pageLogit is the logarithm of the odds that a page is on the topic.
func (m *Model) pageLogit(title string, text []byte) float64 {
	var known seen // on the stack
	sum, n := m.titled(&known, title)
	more, k := m.add(&known, text[:min(len(text), MaxText)])
	if n += k; n == 0 {
		return 0
	}
	return m.page.logit(m.scale * float64(sum+more) / math.Sqrt(float64(n)))
}

// titled adds the words of a title.
func (m *Model) titled(known *seen, title string) (sum, n int) {
	if title == "" {
		return 0, 0
	}
	var buf [maxAnchor]byte
	return m.add(known, buf[:copy(buf[:], title)])
}

// add adds the weights of the features of text that are not known yet, and counts these.
func (m *Model) add(known *seen, text []byte) (sum, n int) {
	weights := (*[features]int8)(m.weights)
	before := uint64(0)
	w := words{text: text}
	for h := w.next(); h != 0; h = w.next() {
		f := place(h)
		isNew := int(^known[f/64] >> (f % 64) & 1)
		known[f/64] |= 1 << (f % 64)
		sum += int(weights[f]) * isNew
		n += isNew
		if before != 0 {
			f = place(pair(before, h))
			isNew = int(^known[f/64] >> (f % 64) & 1)
			known[f/64] |= 1 << (f % 64)
			sum += int(weights[f]) * isNew
			n += isNew
		}
		before = h
	}
	return sum, n
}

// linkLogit is pageLogit for a link. Its few words are counted as often as they occur.
func (m *Model) linkLogit(anchor, url string) float64 {
	var buf [maxURL]byte
	sum, n := m.plain(buf[:copy(buf[:maxAnchor], anchor)])
	more, k := m.plain(buf[:copy(buf[:], addressed(url))])
	if n += k; n == 0 {
		return 0
	}
	return m.link.logit(m.scale * float64(sum+more) / math.Sqrt(float64(n)))
}

// plain adds the weights of all features of text.
func (m *Model) plain(text []byte) (sum, n int) {
	before := uint64(0)
	w := words{text: text}
	for h := w.next(); h != 0; h = w.next() {
		sum += int(m.weights[place(h)])
		n++
		if before != 0 {
			sum += int(m.weights[place(pair(before, h))])
			n++
		}
		before = h
	}
	return sum, n
}

// addressed is an address without its scheme and the ending of its file name, which are about no
// topic.
func addressed(url string) string {
	for i := 0; i+3 <= len(url) && i < 8; i++ {
		if url[i:i+3] == "://" {
			url = url[i+3:]
			break
		}
	}
	for i := len(url) - 1; i > 0 && i >= len(url)-6 && url[i] != '/'; i-- {
		if url[i] == '.' {
			return url[:i]
		}
	}
	return url
}
