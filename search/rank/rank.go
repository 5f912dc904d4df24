package rank

import (
	"math"
	"time"
)

// Field is a part of a document.
type Field int

// The fields, and where the words of each are numbered from: so a position says its field, and
// words of two fields are never neighbours.
const (
	Title Field = iota
	URL
	Description
	Headings
	Anchors
	Text
	Fields
)

// starts are the first positions of the fields.
var starts = [Fields + 1]uint32{0, 64, 128, 256, 1280, 2304, math.MaxUint32}

// Start is the first position of a field, End the one after its last.
func (f Field) Start() uint32 { return starts[f] }

// End is the position after the last of a field.
func (f Field) End() uint32 { return starts[f+1] }

// FieldOf is the field of a position.
func FieldOf(position uint32) Field {
	f := Title
	for position >= starts[f+1] {
		f++
	}
	return f
}

// saturation is k1 of BM25: the weighted frequency that is worth half of what a word can be worth.
const saturation = 1.2

// fields: weight, how much the length counts (b of BM25), the ordinary length.
var fields = [Fields]struct{ weight, b, length float64 }{
	Title:       {4.0, 0.6, 6},
	URL:         {1.0, 0.5, 5},
	Description: {0.8, 0.6, 20},
	Headings:    {1.6, 0.7, 20},
	Anchors:     {1.5, 0.5, 12},
	Text:        {1.0, 0.75, 350},
}

// Impact is what a word is worth in a document: how often it is in each field, and how many words
// each field has. At least 1.
func Impact(frequency, length *[Fields]uint32) byte {
	sum := 0.0
	for f := range frequency {
		if frequency[f] > 0 {
			p := &fields[f]
			sum += p.weight * float64(frequency[f]) / (1 - p.b + p.b*float64(length[f])/p.length)
		}
	}
	return byte(max(1, math.Round(255*sum/(sum+saturation))))
}

// Weight is the inverse document frequency of a word that found of documents have.
func Weight(found, documents int64) float64 {
	found = min(found, documents)
	return math.Log(1 + (float64(documents)-float64(found)+0.5)/(float64(found)+0.5))
}

// The shares of what is not in the words, of a score whose words give at most 1. With 0.30 for
// nearness, questions of three near words found their page clearly worse (docs/results/search.md);
// from 0.6 to 2 it makes no difference.
const (
	nearShare       = 0.80
	writtenShare    = 0.50
	importanceShare = 0.06
	freshShare      = 0.03
)

// MostStatic is the most that Static gives.
const MostStatic = importanceShare + freshShare

// Static is the share of importance, in units of the mean page, and of freshness.
func Static(importance float64, age time.Duration) float64 {
	return importanceShare*prominence(importance) + freshShare*freshness(age)
}

// prominence grows by the logarithm: 0 for no importance, 1 for a thousand times the mean.
func prominence(importance float64) float64 {
	if !(importance > 0) {
		return 0
	}
	return min(1, math.Log1p(importance)/math.Log1p(1000))
}

// freshness halves each half year.
func freshness(age time.Duration) float64 {
	const half = 182 * 24 * time.Hour
	if age <= 0 {
		return 1
	}
	return math.Exp2(-float64(age) / float64(half))
}

// Near is the share of nearness: closeness is from 0 to 1.
func Near(closeness float64) float64 { return nearShare * closeness }

// Written is the share of nearness of the words as they are written: closeness is from 0 to 1.
func Written(closeness float64) float64 { return writtenShare * closeness }

// Closeness says how near each other words stand: 1 when they are neighbours in the order of the
// question, less the further apart. positions are those of each word in one document, in order.
//
// The larger part is the smallest passage with all words that the document has, in any order:
// people remember the words of a passage and not their order. The smaller part is the mean, over
// each pair of words that follow each other in the question, of the best place of the two. Words
// weigh by their worth.
func Closeness(positions [][]uint32, weights []float64) float64 {
	pairs, all, have, every := 0.0, 0.0, 0.0, 0.0
	for i, w := range weights {
		every += w
		if len(positions[i]) > 0 {
			have += w
		}
		if i > 0 {
			all += weights[i-1] + w
			pairs += (weights[i-1] + w) * pair(positions[i-1], positions[i])
		}
	}
	if all == 0 || every == 0 {
		return 0
	}
	return orderShare*pairs/all + (1-orderShare)*together(positions)*have/every
}

// orderShare is the share of the order in the closeness.
const orderShare = 0.3

// maxGaps is the number of other words in a passage from which words do not stand together.
const maxGaps = 128

// together is 1 when the words that there are, two at least, stand next to each other in any order,
// and half of that with two other words between for each.
func together(positions [][]uint32) float64 {
	var lists [][]uint32
	for _, list := range positions {
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	if len(lists) < 2 {
		return 0
	}
	gaps := float64(max(0, int64(passage(lists))-int64(len(lists)-1)))
	if gaps > maxGaps {
		return 0
	}
	return 1 / (1 + gaps/float64(2*len(lists)))
}

// passage is the smallest distance from the first to the last of one position of each list. Lists
// are in order, and none is empty.
func passage(lists [][]uint32) uint32 {
	best := uint32(math.MaxUint32)
	at := make([]int, len(lists))
	for {
		first, last := 0, uint32(0)
		for i, list := range lists {
			p := list[at[i]]
			if p < lists[first][at[first]] {
				first = i
			}
			last = max(last, p)
		}
		best = min(best, last-lists[first][at[first]])
		if at[first]++; at[first] == len(lists[first]) {
			return best
		}
	}
}

// pair is the closeness of two words: 1/distance at the best place, half of that in the wrong
// order.
func pair(a, b []uint32) float64 {
	best := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if a[i] < b[j] {
			best = max(best, 1/float64(b[j]-a[i]))
			if best == 1 {
				return 1
			}
			i++
		} else {
			if d := a[i] - b[j]; d > 0 {
				best = max(best, 0.5/float64(d))
			}
			j++
		}
	}
	if best < 1.0/32 {
		return 0
	}
	return best
}
