package index

import (
	"context"
	"time"
)

// Question is what a reader asked, as it is sent to every node.
type Question struct {
	Text string
	// Now is the time of the question, for freshness: the same on all nodes.
	Now time.Time
	// Partitions are those whose documents may be found; nil means all. A node that keeps copies
	// of partitions is asked for those that it answers for, so that no document is found twice.
	Partitions []uint32
	// Suggest asks for words that are spelt nearly alike even for words that are known.
	Suggest bool
}

// Statistics are what scores depend on besides the document itself. They may be added up over
// indexes; a document that two of them have counts twice, as a document and for its words.
type Statistics struct {
	// Documents is the number of documents, Held of those in Question.Partitions.
	Documents int64
	Held      int64
	// Languages counts documents by language.
	Languages map[string]int64
	// Words counts, for each word and each beginning of a word in the question, documents by term.
	Words map[string]map[string]int64
	// Completions are the commonest words for each beginning in the question.
	Completions map[string]map[string]int64
	// Suggestions are words of the index that are spelt nearly like one of the question, with the
	// number of documents that have them.
	Suggestions map[string]map[string]int64
}

// Plan is a question with all that decides the scores.
type Plan struct {
	Question
	Statistics Statistics
	// Corrections are, for a word of the question, the words that are looked for in its place; the
	// first is the likeliest.
	Corrections map[string][]string
	// Relaxed: a document need not have all words.
	Relaxed bool
	// Depth is the largest number of hits.
	Depth int
}

// Answer is what one index, or several, found.
type Answer struct {
	// Total is the number of documents that match; Exact is false when it is a lower bound.
	Total int64
	Exact bool
	Hits  []Hit // best first
}

// Hit is a document that was found, without what Show adds.
type Hit struct {
	URL         string
	Host        string
	Score       float64
	Fingerprint uint64
}

// Part is a piece of a snippet; Hit marks words of the question.
type Part struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit"`
}

// Result is a document as it is shown.
type Result struct {
	URL       string
	Host      string
	Title     string // the URL when the page has none
	Snippet   string
	Highlight []Part // Snippet in parts
	Language  string
	FetchedAt time.Time
	Score     float64
	File      string
	Offset    int64
	// AlsoAt are URLs with nearly the same text, which have no result of their own.
	AlsoAt []string
	// MoreFromHost is the number of further hits of the host that later pages show.
	MoreFromHost int
}

// Source answers the three steps of a question: an Index, or a caller of many. Calls may come from
// several goroutines. An error means that nothing was answered.
type Source interface {
	Statistics(context.Context, Question) (Statistics, error)
	Ask(context.Context, Plan) (Answer, error)
	// Show returns results in any order; URLs that are not known (any more) are left out.
	Show(context.Context, Plan, []string) ([]Result, error)
}

// Request is what a reader asks for. Page counts from 1; Size is 1 to MaxSize.
type Request struct {
	Text       string
	Page, Size int
	Now        time.Time
	Partitions []uint32
}

// Page is one page of results.
type Page struct {
	// Interpreted says how the text was read, in words.
	Interpreted string
	// DidYouMean is the text with its typing errors corrected; "" when there is nothing to correct.
	DidYouMean string
	Total      int64
	TotalExact bool
	Results    []Result
}

// Limits of questions. What is beyond them is left out, which Interpreted says.
const (
	MaxQuestion = 2048 // bytes of text
	MaxWords    = 32   // words, phrases and conditions
	MaxSize     = 100
	MaxResults  = 1000 // results that pages can reach
)
