package node

import (
	"fmt"

	"crawlnode/documents"
	"crawlnode/documents/tika"
)

// openDocuments makes what reads documents. It starts nothing before the first one comes, whatever
// the crawl's settings are: they may change.
func (n *Node) openDocuments() error {
	var server *tika.Client
	if n.cfg.ExtractWith != "" {
		var err error
		if server, err = tika.New(n.cfg.ExtractWith, tika.Options{
			Concurrent: documents.MaxAsked,
		}); err != nil {
			return usageError(fmt.Errorf("--extract-with: %w", err))
		}
	}
	n.documents = documents.NewReader(documents.Options{
		Cache: n.dir.Join("documents"), Tika: server, Log: n.log})
	return nil
}
