package search

import (
	"context"
	"errors"
	"iter"
	"log/slog"
)

// Options are what Open is told.
type Options struct {
	Log *slog.Logger // nil: no log
}

// Repair says what Open found damaged and mended. The zero value is a sound index.
type Repair struct {
	// Rebuilt is the number of segments whose postings were made anew from their stored documents.
	Rebuilt int
	// Lost is the number of documents that could not be read, Partitions those that they belonged
	// to: the caller has to index these again. All: nothing is known of what was there.
	Lost       int
	Partitions []uint32
	All        bool
}

// Size says how large an index is.
type Size struct {
	Documents int64
	Bytes     int64 // on disk
	Segments  int
}

// Index is an index in a folder. All methods may be called from several goroutines; Apply and
// RemovePartition take turns.
type Index struct{}

var errTodo = errors.New("search: not built yet")

// Open opens the index in dir, which is made if it is missing, and mends what a crash or a disk
// has damaged. One process per folder. The Index merges its segments in the background until Close.
func Open(dir string, o Options) (*Index, Repair, error) { return nil, Repair{}, errTodo }

// Close waits for the merge that is going on to stop. It is called once, after the last other call.
func (x *Index) Close() error { return errTodo }

// Apply changes the index; when it returns the change is durable and found by later questions.
// Either the whole batch is in the index after a crash or nothing of it. A batch is held in memory:
// about 1,000 documents or 16 MiB of text are a good size. After an error of the disk the batch may be applied again.
func (x *Index) Apply(ctx context.Context, b Batch) error { return errTodo }

// RemovePartition removes all documents of the partitions, durably.
func (x *Index) RemovePartition(ctx context.Context, partitions ...uint32) error { return errTodo }

// Get returns the document of a URL.
func (x *Index) Get(url string) (Document, bool, error) { return Document{}, false, errTodo }

// Documents yields the documents of one partition as they were when it began, in no order that means
// anything: to copy them. After an error it yields nothing more.
func (x *Index) Documents(partition uint32) iter.Seq2[Document, error] { return nil }

// Count is the number of documents of a partition.
func (x *Index) Count(partition uint32) int64 { return 0 }

// Partitions returns the number of documents of each partition that has any.
func (x *Index) Partitions() map[uint32]int64 { return nil }

// Size says how large the index is.
func (x *Index) Size() Size { return Size{} }

// Statistics implements Source.
func (x *Index) Statistics(ctx context.Context, q Question) (Statistics, error) {
	return Statistics{}, errTodo
}

// Ask implements Source.
func (x *Index) Ask(ctx context.Context, p Plan) (Answer, error) { return Answer{}, errTodo }

// Show implements Source.
func (x *Index) Show(ctx context.Context, p Plan, urls []string) ([]Result, error) {
	return nil, errTodo
}

// Add adds the statistics of another index.
func (s *Statistics) Add(o Statistics) {}

// Join puts answers of several indexes together: the best depth hits of all.
func Join(depth int, answers ...Answer) Answer { return Answer{} }

// Search answers a request: the three steps, a second round with corrected or fewer words when
// there was no hit, near-duplicates as one result, at most two results of a host on a page as long
// as others are worth it.
func Search(ctx context.Context, s Source, r Request) (Page, error) { return Page{}, errTodo }

// AppendDocument appends a document as bytes, for a copy on another node.
func AppendDocument(dst []byte, d *Document) []byte { return dst }

// ParseDocument reads what AppendDocument wrote, and returns the bytes after it.
func ParseDocument(src []byte) (d Document, rest []byte, err error) { return Document{}, nil, errTodo }
