package focus

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Options are what Train may be told.
type Options struct {
	// Seed is that of the random order in which pages are learnt from and divided.
	Seed uint64
	// Progress, unless nil, is called after each of the steps that take time. Train ends with its
	// error.
	Progress func(done, of int) error
}

// Train makes a model of the pages. The error is ErrTooFew, that of Progress, or says that the sets
// cannot be told apart.
func (t *Trainer) Train(o Options) (*Model, error) {
	like, unlike := t.Pages()
	for _, set := range [...]struct {
		pages int
		name  string
	}{{like, "of the topic"}, {unlike, "that are not of the topic"}} {
		if set.pages < MinPages {
			return nil, fmt.Errorf(
				"%w: %d different pages %s with text, at least %d are needed and some hundred are good",
				ErrTooFew, set.pages, set.name, MinPages)
		}
	}
	rng := &source{o.Seed}
	l := newLearner(t.pages)
	fold := divide(t.pages, rng)
	done, of := 0, folds*len(costs)+1
	step := func() error {
		if done++; o.Progress != nil {
			return o.Progress(done, of)
		}
		return nil
	}
	var best validation
	for _, cost := range costs {
		v, err := l.validate(fold, cost, rng, step)
		if err != nil {
			return nil, err
		}
		if v.auc > best.auc+1e-4 {
			best = v
		}
	}
	if best.auc < 0.6 {
		return nil, fmt.Errorf("the two sets cannot be told apart: of a page of each, "+
			"the one of the topic was known in %.0f %% of the cases, and 50 %% are chance: "+
			"give pages that differ more, and more of them", 100*best.auc)
	}
	w := l.learn(fold, -1, best.cost, rng)
	if err := step(); err != nil {
		return nil, err
	}
	m := quantised(w)
	m.page, m.link = fit(best.pages, true), fit(best.links, false)
	m.info.Like, m.info.Unlike = like, unlike
	m.info.AUC, m.info.LinkAUC, m.info.Accuracy = best.auc, auc(best.links),
		accuracy(best.pages, m.page)
	m.info.For, m.info.Against = t.strongest(m, l, 1), t.strongest(m, l, -1)
	return m, nil
}

// quantised makes bytes of the largest weights.
func quantised(w []float64) *Model {
	m := &Model{weights: make([]int8, features)}
	order := make([]int, 0, features)
	for f := range w {
		if w[f] != 0 {
			order = append(order, f)
		}
	}
	slices.SortFunc(order,
		func(a, b int) int {
			return cmp.Or(cmp.Compare(math.Abs(w[b]), math.Abs(w[a])), cmp.Compare(a, b))
		})
	if len(order) == 0 {
		return m
	}
	m.scale = math.Abs(w[order[0]]) / math.MaxInt8
	for _, f := range order[:min(len(order), MaxWeights)] {
		if m.weights[f] = int8(math.Round(w[f] / m.scale)); m.weights[f] != 0 {
			m.info.Weights++
		}
	}
	return m
}

// strongest lists the words with the largest weights of a sign, by what they add to the pages that
// have them: a weight of a word that is in few pages says little.
func (t *Trainer) strongest(m *Model, l *learner, sign int) []string {
	type word struct {
		name   string
		weight float64
	}
	var list []word
	for f, name := range t.names {
		w := float64(int(m.weights[f]) * sign)
		if w <= 0 || name == "" || l.idf[f] == 0 {
			continue
		}
		pages := float64(len(l.pages)) / (math.Exp(l.idf[f]) - 1)
		list = append(list, word{name, w * math.Sqrt(pages)})
	}
	slices.SortFunc(list, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.name, b.name))
	})
	names := make([]string, 0, MaxWords)
	for _, w := range list[:min(len(list), MaxWords)] {
		names = append(names, w.name)
	}
	return names
}

// nameOf makes a word or a pair readable. It is "" if that is longer than MaxWord bytes.
func nameOf(before, word []byte) string {
	if len(before)+1+len(word) > MaxWord/2 { // lower case may be longer
		return ""
	}
	return strings.TrimSpace(strings.ToLower(strings.ToValidUTF8(string(before)+" "+string(word), "")))
}
