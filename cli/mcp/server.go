package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"crawlnode/api/client"
	"crawlnode/crawl"
	"crawlnode/output/readback"
)

const (
	// callTime bounds a call, with its waiting.
	callTime = 30 * time.Second
	// maxCalls bounds the calls that work, maxReading those of them that read a page: one of 10 MiB
	// takes many times that.
	maxCalls, maxReading = 8, 2
	// maxError bounds the text of an error, maxURL that of a URL, in bytes.
	maxError, maxURL = 2 << 10, 2 << 10
)

// cluster is what the tools ask.
type cluster interface {
	// Page reads the newest capture of a URL, of which at most readback.MaxContent bytes.
	Page(ctx context.Context, url string) (*readback.Page, error)
	Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error)
	DescribeURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	CrawlConfig(ctx context.Context) (crawl.CrawlReport, error)
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error)
}

// options are what a server is made of.
type options struct {
	node    cluster
	write   bool      // offer add_seeds
	version string    // of the program
	random  io.Reader // the numbers of marks come from it; for several goroutines
	log     *slog.Logger
}

// tools has what the tools share. It is for many goroutines.
type tools struct {
	options
	calls, reading chan struct{} // a place for each call that works
}

// newServer returns a server with all tools.
func newServer(o *options) (*sdk.Server, error) {
	t := &tools{
		options: *o,
		calls:   make(chan struct{}, maxCalls),
		reading: make(chan struct{}, maxReading),
	}
	s := sdk.NewServer(&sdk.Implementation{
		Name: "crawlnode", Title: "crawlnode, a peer-to-peer web crawler", Version: o.version,
	}, &sdk.ServerOptions{
		Instructions: "Tools of a web crawl: search its pages, read what it has archived, ask why a" +
			" URL was or was not crawled, and how the crawl goes. They read the archive, never the" +
			" web. " + notice,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes
	})
	s.AddReceivingMiddleware(t.guard)
	err := errors.Join(t.addSearch(s), t.addFetch(s), t.addWhy(s), t.addStatus(s))
	if o.write {
		err = errors.Join(err, t.addSeeds(s))
	}
	return s, err
}

// guard bounds what calls cost and what errors of the SDK repeat. A panic ends a call, not the
// program: arguments reach code that others have written.
func (t *tools) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				t.log.Error(
					"a call has failed by a mistake of the program",
					"method",
					cleanLine(method, 100),
					"panic",
					fmt.Sprint(p),
				)
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
					Message: "internal error: a mistake of crawlnode, please report it"}
			}
		}()
		if p, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && string(p.Arguments) == "null" {
			p.Arguments = nil // the SDK takes null for a list of arguments in which it can write
		}
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		result, err = next(ctx, method, req)
		if r, ok := result.(*sdk.CallToolResult); ok && r != nil && r.IsError {
			for _, c := range r.Content {
				if text, ok := c.(*sdk.TextContent); ok {
					var cut bool
					if text.Text, cut = cutAt(clean(text.Text), maxError); cut {
						text.Text += "..."
					}
				}
			}
		}
		return result, err
	}
}

// add adds a tool. in changes the schema of its arguments, which is that of the type In.
func add[In, Out any](s *sdk.Server, tool *sdk.Tool, in func(map[string]*jsonschema.Schema),
	run func(context.Context, In) (text string, out Out, err error), places ...chan struct{}) error {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return fmt.Errorf("the arguments of %s: %w", tool.Name, err)
	}
	in(schema.Properties)
	tool.InputSchema = schema
	sdk.AddTool(s, tool, func(ctx context.Context, _ *sdk.CallToolRequest, args In) (
		*sdk.CallToolResult, Out, error) {
		var none Out
		for _, places := range places {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				return nil, none, fmt.Errorf("%s: %w", tool.Name, explain(ctx.Err()))
			}
		}
		text, out, err := run(ctx, args)
		if err != nil {
			return nil, none, fmt.Errorf("%s: %w", tool.Name, explain(err))
		}
		return &sdk.CallToolResult{
			Meta:    sdk.Meta{"crawlnode/untrusted": untrusted(tool)},
			Content: []sdk.Content{&sdk.TextContent{Text: text}},
		}, out, nil
	})
	return nil
}

// untrusted reports whether the answers of a tool have text of the web.
func untrusted(tool *sdk.Tool) bool {
	return tool.Annotations.OpenWorldHint != nil && *tool.Annotations.OpenWorldHint
}

// reads are the annotations of a tool that changes nothing. open: its answers have text of the web.
func reads(title string, open bool) *sdk.ToolAnnotations {
	no := false
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, DestructiveHint: &no,
		IdempotentHint: true, OpenWorldHint: &open}
}

// explain adds to an error what the one who runs the server can do about it.
func explain(err error) error {
	failed := (*client.Error)(nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %.0f s: the node is busy, or does not run; try again: %w",
			callTime.Seconds(), err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("the call was taken back: %w", err)
	case !errors.As(err, &failed):
		return err
	case failed.Code == http.StatusUnauthorized:
		return fmt.Errorf(
			"%w (crawlnode mcp takes it with --cluster-key-file FILE, or --token-file FILE)",
			err,
		)
	case failed.Code == http.StatusForbidden:
		return fmt.Errorf(
			"%w; crawlnode keygen --role operate KEY-FILE makes a token that may add seeds,"+
				" and crawlnode mcp takes it with --token-file FILE",
			err,
		)
	}
	return err
}
