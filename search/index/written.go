package index

import (
	"context"
	"slices"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/rank"
)

const (
	// reread is how many of the best documents of a node are read for words as they are written.
	reread = 20
	// maxReread bounds the bytes of a text that are read for that.
	maxReread = 64 << 10
)

// written adds, for the best of all, the share of words that stand near each other as they are
// written: positions say the stems of words only (decision 0231). all is in order, and is put in
// order again.
func (c *compiled) written(ctx context.Context, all []found) error {
	w := writtenWords(c)
	if len(w.words) < 2 || len(all) < 2 {
		return nil
	}
	all = all[:min(len(all), reread)]
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := all[i].part.document(all[i].doc)
		if err != nil {
			return err
		}
		w.find(&d)
		all[i].score = rounded(all[i].score + rank.Written(rank.Closeness(w.positions, w.weights)))
	}
	slices.SortFunc(all, betterFirst)
	return nil
}

// asWritten are the words of a question, and where a document has them.
type asWritten struct {
	words     []string
	weights   []float64
	first     [256]bool // the first bytes of the words
	positions [][]uint32
	scanner   *analyse.Scanner
}

// writtenWords are the words that a page should have; of one that no page has, what it is taken
// for.
func writtenWords(c *compiled) *asWritten {
	w := &asWritten{scanner: analyse.NewScanner("")}
	for i := range c.clauses {
		of := &c.clauses[i]
		if of.clause.Kind != query.Word || of.weak {
			continue
		}
		word := of.clause.Words[0]
		if other := c.plan.Corrections[word]; len(other) > 0 && sum(c.plan.Statistics.Words[word]) == 0 {
			word = other[0]
		}
		if word != "" && !slices.Contains(w.words, word) {
			w.words, w.weights = append(w.words, word), append(w.weights, of.weight)
			w.first[word[0]] = true
		}
	}
	w.positions = make([][]uint32, len(w.words))
	return w
}

// find finds the words in a document.
func (w *asWritten) find(d *Document) {
	for i := range w.positions {
		w.positions[i] = w.positions[i][:0]
	}
	for _, part := range []struct {
		field rank.Field
		text  string
	}{{rank.Title, d.Title}, {rank.Headings, d.Headings}, {rank.Text, d.Text}} {
		w.scanner.Reset(cut(part.text, maxReread))
		for at := part.field.Start(); at < part.field.End() && w.scanner.Next(); at++ {
			word := w.scanner.Word()
			if !w.first[word[0]] {
				continue
			}
			if i := slices.IndexFunc(w.words, func(of string) bool { return of == string(word) }); i >= 0 {
				w.positions[i] = append(w.positions[i], at)
			}
		}
	}
}
