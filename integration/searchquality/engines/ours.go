package engines

import (
	"context"

	"crawlnode/integration/searchquality"
	"crawlnode/search/index"
)

// ours is the engine of the project.
type ours struct{ x *index.Index }

func newOurs(dir string) (engine, error) {
	x, _, err := index.Open(dir, index.Options{})
	return &ours{x}, err
}

func (o *ours) add(docs []index.Document) error {
	return o.x.Apply(context.Background(), index.Batch{Put: docs})
}

func (o *ours) ask(text string) ([]searchquality.Found, error) {
	p, err := index.Search(context.Background(), o.x,
		index.Request{Text: text, Page: 1, Size: 10, Now: searchquality.Noon})
	var out []searchquality.Found
	for _, r := range p.Results {
		out = append(out, searchquality.Found{URL: r.URL, AlsoAt: r.AlsoAt})
	}
	return out, err
}

func (o *ours) close() error { return o.x.Close() }
