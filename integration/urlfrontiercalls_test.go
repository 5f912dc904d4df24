package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"crawlnode/workers/urlfrontier/wire"
)

// frontierCall is one call of the URLFrontier contract.
type frontierCall struct {
	name  string
	role  string // that its caller needs
	works func(*frontierTrip)
	// refused is what the call does not do, as docs/workers.md has it.
	refused []frontierRefusal
}

type frontierRefusal struct {
	code codes.Code
	when string // as the document says it
	says string // part of the message
	ask  func(*frontierTrip) error
}

// frontierCalls are all calls, in the order in which the test has them.
var frontierCalls = []frontierCall{
	{"ListNodes", "read", (*frontierTrip).listNodes, nil},
	{"ListCrawls", "read", (*frontierTrip).listCrawls, nil},
	{"PutURLs", "operate", (*frontierTrip).putURLs, nil},
	{"PutDiscovered", "operate", (*frontierTrip).putDiscovered, nil},
	{"GetURLs", "operate", (*frontierTrip).getURLs, nil},
	{"GetURLStatus", "read", (*frontierTrip).getURLStatus, []frontierRefusal{
		{codes.NotFound, "a URL that was never admitted", "never admitted", func(k *frontierTrip) error {
			_, err := k.c.GetURLStatus(k.ctx, &wire.URLStatusRequest{Url: k.site.page(0, 99)})
			return err
		}},
		{codes.NotFound, "one that the crawl does not have", "does not have this URL",
			func(k *frontierTrip) error {
				_, err := k.c.GetURLStatus(k.ctx,
					&wire.URLStatusRequest{Url: k.site.page(0, 0), CrawlID: "other"})
				return err
			}},
	}},
	{"ListURLs", "read", (*frontierTrip).listURLs, nil},
	{"CountURLs", "read", (*frontierTrip).countURLs, nil},
	{"GetStats", "read", (*frontierTrip).getStats, nil},
	{"ListQueues", "read", (*frontierTrip).listQueues, nil},
	{"SetActive", "operate", (*frontierTrip).setActive, []frontierRefusal{
		{codes.Unimplemented, "with `local`", "--fetch off", func(k *frontierTrip) error {
			_, err := k.c.SetActive(k.ctx, &wire.Active{Local: true})
			return err
		}},
	}},
	{"GetActive", "read", func(k *frontierTrip) { k.active(true) }, nil}, // false is in SetActive
	{"BlockQueueUntil", "operate", (*frontierTrip).blockQueue, []frontierRefusal{
		{codes.InvalidArgument, "a key that is no host", "without a port", refusedBlock(&wire.BlockQueueParams{Key: "127.0.0.1:8080"})},
		{codes.NotFound, "a host without URLs", "PutURLs first", refusedBlock(&wire.BlockQueueParams{Key: "nobody.example", Time: 1 << 40})},
		{codes.Unimplemented, "with `local`", "without local", refusedBlock(&wire.BlockQueueParams{Key: "127.0.0.1", Local: true})},
	}},
	{"SetDelay", "admin", (*frontierTrip).setDelay, []frontierRefusal{
		{codes.InvalidArgument, "more than `--delay` may be", "delay", refusedDelay(&wire.QueueDelayParams{DelayRequestable: 1 << 31})},
		{codes.InvalidArgument, "a key that is no host", "without a port", refusedDelay(&wire.QueueDelayParams{Key: "127.0.0.1:8080"})},
		{codes.Unimplemented, "with `local`", "without local", refusedDelay(&wire.QueueDelayParams{Local: true})},
	}},
	{"SetCrawlLimit", "admin", (*frontierTrip).setCrawlLimit, []frontierRefusal{
		{codes.NotFound, "a queue that another crawl does not have", "no such queue",
			refusedLimit(&wire.CrawlLimitParams{Key: "127.0.0.1", CrawlID: "other"})},
		{codes.Unimplemented, "with a `key`", "the same for all hosts", refusedLimit(&wire.CrawlLimitParams{Key: "127.0.0.1"})},
		{codes.Unimplemented, "with `local`", "without local", refusedLimit(&wire.CrawlLimitParams{Local: true})},
	}},
	{"SetLogLevel", "admin", (*frontierTrip).setLogLevel, []frontierRefusal{
		{codes.InvalidArgument, "a level that is none", "no level 99", refusedLevel(&wire.LogLevelParams{Level: 99, Local: true})},
		{codes.Unimplemented, "with a `package`", "leave the package empty",
			refusedLevel(&wire.LogLevelParams{Package: "frontier", Local: true})},
		{codes.Unimplemented, "without `local`", "with local", refusedLevel(&wire.LogLevelParams{})},
	}},
	{"DeleteCrawl", "admin", (*frontierTrip).deleteCrawl, nil},
	{"DeleteQueue", "admin", (*frontierTrip).deleteQueue, nil},
	{"PurgeURLs", "admin", (*frontierTrip).purgeURLs, nil},
}

func refusedBlock(p *wire.BlockQueueParams) func(*frontierTrip) error {
	return func(k *frontierTrip) error { _, err := k.c.BlockQueueUntil(k.ctx, p); return err }
}

func refusedDelay(p *wire.QueueDelayParams) func(*frontierTrip) error {
	return func(k *frontierTrip) error { _, err := k.c.SetDelay(k.ctx, p); return err }
}

func refusedLimit(p *wire.CrawlLimitParams) func(*frontierTrip) error {
	return func(k *frontierTrip) error { _, err := k.c.SetCrawlLimit(k.ctx, p); return err }
}

func refusedLevel(p *wire.LogLevelParams) func(*frontierTrip) error {
	return func(k *frontierTrip) error { _, err := k.c.SetLogLevel(k.ctx, p); return err }
}

// descriptor are the calls of the generated contract, with what gRPC needs to make each.
func descriptor() map[string]grpc.StreamDesc {
	calls := map[string]grpc.StreamDesc{}
	for _, m := range wire.URLFrontier_ServiceDesc.Methods {
		calls[m.MethodName] = grpc.StreamDesc{StreamName: m.MethodName}
	}
	for _, s := range wire.URLFrontier_ServiceDesc.Streams {
		calls[s.StreamName] = s
	}
	return calls
}

// TestURLFrontierTable compares the calls above with the contract and with the table of
// docs/workers.md.
func TestURLFrontierTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(line, "| `") {
			name := strings.Trim(cells[0], "| `")
			if rows[name] != nil {
				t.Errorf("%s has two rows", name)
			}
			rows[name] = cells
		}
	}
	calls := descriptor()
	for _, c := range frontierCalls {
		if _, ok := calls[c.name]; !ok {
			t.Errorf("%s is no call of the contract, or is here twice", c.name)
		}
		delete(calls, c.name)
		want := []string{"| `" + c.name + "`", c.role, refusals(c.refused) + " |"}
		row := rows[c.name]
		delete(rows, c.name)
		if len(row) != 4 || !slices.Equal(want, []string{row[0], row[1], row[3]}) {
			t.Errorf("docs/workers.md has %q; want %q with what the call does between the last two", row,
				want)
		}
	}
	for name := range calls {
		t.Errorf("the contract has a call %s, and no test makes it", name)
	}
	for name := range rows {
		t.Errorf("docs/workers.md has %s, which is no call", name)
	}
}

// refusals is how the document says what a call refuses.
func refusals(all []frontierRefusal) string {
	var text []string
	for i, r := range all {
		if i == 0 || r.code != all[i-1].code {
			names := map[codes.Code]string{
				codes.InvalidArgument: "INVALID_ARGUMENT",
				codes.NotFound:        "NOT_FOUND",
				codes.Unimplemented:   "UNIMPLEMENTED",
			}
			text = append(text, "`"+names[r.code]+"`: "+r.when)
		} else {
			text[len(text)-1] += ", " + r.when
		}
	}
	return cmp.Or(strings.Join(text, "; "), "–")
}

// TestURLFrontierCalls makes each call of the contract at a node with a key: without a token, with
// a token of a smaller role, as it is meant, and in each way that is refused.
func TestURLFrontierCalls(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "10ms", "--fetch", "off").keyed()
	at := fmt.Sprint("127.0.0.1:", freePort(t))
	n := c.add("--frontier-addr", at)
	n.ready()
	conn, err := grpc.NewClient(at,
		grpc.WithTransportCredentials(credentials.NewTLS(c.key.ClientTLS())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), slack(2*time.Minute))
	defer cancel()
	contexts := map[string]context.Context{}
	for _, role := range []string{"read", "operate", "admin"} {
		code, token, stderr := run(t, "", "keygen", "--role", role, c.key.file)
		if code != 0 {
			t.Fatal(stderr)
		}
		contexts[role] = metadata.AppendToOutgoingContext(ctx, "authorization",
			"Bearer "+strings.TrimSpace(token))
	}
	calls := descriptor()
	smaller := map[string]string{"operate": "read", "admin": "operate"}
	for _, call := range frontierCalls {
		desc := calls[call.name]
		if err := empty(ctx, conn, &desc); grpcstatus.Code(err) != codes.Unauthenticated ||
			!strings.Contains(err.Error(), "authorization: Bearer") {
			t.Errorf("%s without a token: %v", call.name, err)
		}
		if role := smaller[call.role]; role != "" {
			if err := empty(contexts[role], conn, &desc); grpcstatus.Code(err) != codes.PermissionDenied ||
				!strings.Contains(err.Error(), "needs the role "+call.role) {
				t.Errorf("%s with the role %s: %v", call.name, role, err)
			}
		}
	}
	k := &frontierTrip{
		ctx:   ctx,
		c:     wire.NewURLFrontierClient(conn),
		n:     n,
		site:  serveTree(t, 2, 3),
		given: map[string]*wire.URLInfo{},
	}
	for _, call := range frontierCalls {
		t.Run(call.name, func(t *testing.T) {
			k.T, k.ctx = t, contexts[call.role]
			if call.works != nil {
				call.works(k)
			}
			for _, r := range call.refused {
				if err := r.ask(k); grpcstatus.Code(err) != r.code || !strings.Contains(err.Error(), r.says) {
					t.Errorf("%s: %v; want %v and %q", r.when, err, r.code, r.says)
				}
			}
		})
	}
	t.Run("nothing else was deleted", func(t *testing.T) {
		k.T = t
		k.countURLs()
		k.deleteOwn()
	})
	c.stop()
	if log, err := os.ReadFile(n.log); err != nil || !strings.Contains(string(log), "DEBUG") {
		t.Errorf("SetLogLevel changed nothing: the node logged no detail of its end, %v\n%s", err,
			tail(n.log, 20))
	}
}

// empty makes a call with an empty message.
func empty(ctx context.Context, conn *grpc.ClientConn, desc *grpc.StreamDesc) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := conn.NewStream(ctx, desc,
		"/"+wire.URLFrontier_ServiceDesc.ServiceName+"/"+desc.StreamName)
	if err != nil {
		return err
	}
	if err := s.SendMsg(&wire.Empty{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errors.Join(s.CloseSend(), s.RecvMsg(&wire.Empty{}))
}
