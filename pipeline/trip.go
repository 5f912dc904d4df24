package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

// worker makes one trip at a time and reuses its memory.
type worker struct {
	p    *Pipeline
	halt halt
	seen map[string]struct{} // links of the current page
	// complete says that no scope entry is missing that may admit the current links.
	complete bool
	// skipped are those links that were not taken and that the log shows.
	skipped []crawl.Skip
	shown   *Shown         // the current page as a browser showed it; nil: as it was fetched
	masked  []byte         // the text of the current page without its numbers
	targets []crawl.Target // memory for those of the next page
	jar     cookies.Jar    // of the current visit's host, with Settings.HostCookies
}

// visit makes the whole trip of v. keep outlives the pipeline's context. The error is a storage
// error.
func (w *worker) visit(keep context.Context, v crawl.Visit) error {
	rules := w.p.o.Rules().of(v.Item.URL)
	fetching, takeBack := w.p.o.Source.Context(v)
	w.halt.begin(takeBack)
	defer w.halt.begin(nil)
	w.openJar(&v, rules)

	if rules.Rejudge {
		if err := w.prepare(keep, &v, rules); err != nil {
			return w.unprepared(keep, v, err)
		}
	}
	if o, out := outOfScope(&v, rules); out {
		t := crawl.Target{URL: v.Item.URL, Depth: v.Item.Depth, Via: v.Item.Via}
		if _, wants := wantsEntry(&t, rules); wants && !w.complete {
			return w.unjudged(keep, v)
		}
		return w.refuse(keep, v, crawl.Response{Kind: crawl.Refused}, o)
	}
	if what := w.lacking(v.Host, rules); what != "" {
		return w.withheld(keep, v, what)
	}
	obey := !rules.Settings.RobotsIgnore || !rules.Settings.Allowed(v.Addr)
	switch {
	case v.Excluded: // and admitted again since
		return w.finish(keep, v, crawl.Response{Kind: crawl.Aborted},
			crawl.Outcome{Kind: crawl.Aborted, Reason: "the scope was changed twice", FetchedAt: time.Now()})
	case !v.Addr.IsValid():
		o := unaddressed(&v, time.Now())
		return w.finish(keep, v, crawl.Response{Kind: o.Kind}, o)
	case v.Item.Via == crawl.ViaRobots:
		return w.robotsFetch(keep, fetching, v, rules)
	case obey && (v.Robots == nil || !time.Now().Before(v.Robots.Expires)):
		if err := w.prepare(keep, &v, rules); err != nil { // the file may name sitemaps on other hosts
			return w.unprepared(keep, v, err)
		}
		r, o := w.robots(fetching, v, rules)
		return w.finish(keep, v, r, o)
	case obey && w.needsTDM(&v, rules):
		r, o := w.tdm(fetching, v, rules)
		return w.finish(keep, v, r, o)
	case obey:
		if r, o, refused := w.forbidden(v, rules); refused {
			return w.refuse(keep, v, r, o)
		}
	}
	if v.Item.Via == crawl.ViaPart {
		return w.part(keep, fetching, v, rules)
	}
	return w.page(keep, fetching, takeBack, v, rules)
}

// prepare waits until links, or the item itself, can be judged, if that may be soon.
func (w *worker) prepare(ctx context.Context, v *crawl.Visit, rules *Rules) error {
	w.complete = true
	if w.p.o.Keeper == nil {
		return nil
	}
	entry := ""
	if OpensScope(v.Item.Via, v.Item.Depth) && !rules.Scope.Covers(v.Item.URL, rules.Seeds) {
		entry = rules.Scope.EntryOf(v.Item.URL)
	}
	complete, err := w.p.o.Keeper.Prepare(ctx, entry)
	if w.complete = complete; err != nil {
		return fmt.Errorf("prepare the scope of %s: %w", v.Item.URL, err)
	}
	return nil
}

// judgeAgain is the pause of a host whose item cannot be judged yet.
const judgeAgain = time.Second

// unjudged ends a visit before any request. The item stays queued until its scope is known.
func (w *worker) unjudged(ctx context.Context, v crawl.Visit) error {
	const why = "this node may lack the scope entry that admits it"
	return w.finish(ctx, v, crawl.Response{Kind: crawl.Aborted, RetryAfter: judgeAgain},
		crawl.Outcome{Kind: crawl.Aborted, Reason: why, FetchedAt: time.Now()})
}

// unprepared ends a visit before any request. Its item stays queued.
func (w *worker) unprepared(ctx context.Context, v crawl.Visit, err error) error {
	return errors.Join(err, w.finish(ctx, v, crawl.Response{Kind: crawl.Aborted},
		crawl.Outcome{Kind: crawl.Aborted, Reason: err.Error(), FetchedAt: time.Now()}))
}

// outOfScope judges an item again that was admitted under older rules.
func outOfScope(v *crawl.Visit, rules *Rules) (o crawl.Outcome, out bool) {
	if !rules.Rejudge || v.Item.Via.Errand() {
		return o, false
	}
	verdict := decideItem(&v.Item, rules)
	if verdict.Admit {
		return o, false
	}
	return crawl.Outcome{Kind: crawl.Refused, Skip: ReasonOf(verdict), FetchedAt: time.Now(),
		Reason: "by the scope as it was changed: " + verdict.Rule}, true
}

// How the reasons of hosts begin that cannot be dialled.
const (
	noAddress       = "the host has no address"
	noUsableAddress = noAddress + " that may be asked: "
)

// unaddressed is the outcome of a visit to a host that cannot be dialled.
func unaddressed(v *crawl.Visit, at time.Time) crawl.Outcome {
	o := crawl.Outcome{
		Kind:      crawl.HostFailed,
		Category:  crawl.ErrDNS,
		Reason:    noAddress,
		FetchedAt: at,
	}
	if v.NoAddr != nil {
		o.Reason = noAddress + ": " + v.NoAddr.Error()
	}
	if errors.Is(v.NoAddr, crawl.ErrRefused) {
		o.Category, o.Reason = crawl.ErrBlockedAddress, noUsableAddress+v.NoAddr.Error()
		if isLiteral(v.Host) {
			o.Kind = crawl.Blocked
		}
	}
	return o
}

// finish releases and completes a visit that has nothing to parse or archive.
func (w *worker) finish(
	ctx context.Context,
	v crawl.Visit,
	r crawl.Response,
	o crawl.Outcome,
) error {
	w.p.o.Source.Release(v, r)
	return w.completeVisit(ctx, v, o)
}

func (w *worker) completeVisit(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	if err := w.p.o.Sink.Complete(ctx, v, o); err != nil {
		return fmt.Errorf("complete %s: %w", v.Item.URL, err)
	}
	return nil
}

// forbidden refuses what robots.txt forbids.
func (w *worker) forbidden(
	v crawl.Visit,
	rules *Rules,
) (r crawl.Response, o crawl.Outcome, refused bool) {
	switch v.Robots.Verdict {
	case crawl.RobotsAllowAll:
		return r, o, false
	case crawl.RobotsDenyAll:
		r.Kind = crawl.HostFailed
		return r, crawl.Outcome{
			Kind: crawl.HostFailed, Category: crawl.ErrOther, FetchedAt: time.Now(),
			Reason: "robots.txt of " + v.Robots.Origin + " could not be read",
		}, true
	}
	allowed, line := w.p.parsed.of(v.Robots, rules.Settings.Agent()).Explain(v.Item.URL.String())
	if allowed {
		return r, o, false
	}
	r.Kind = crawl.Refused
	return r, crawl.Outcome{
		Kind: crawl.Refused, Skip: crawl.SkipRobots, FetchedAt: time.Now(),
		Reason: "robots.txt of " + v.Robots.Origin + " says " + line,
	}, true
}

// page fetches the item or hands it out, releases the host, and then does the rest.
func (w *worker) page(
	keep, fetching context.Context,
	takeBack context.CancelCauseFunc,
	v crawl.Visit,
	rules *Rules,
) error {
	switch {
	case v.Item.Via == crawl.ViaGuest:
		return w.handOut(keep, v, w.p.o.Guests)
	case w.p.o.Handout != nil && v.Item.Via != crawl.ViaSitemapFile:
		return w.handOut(keep, v, w.p.o.Handout)
	}
	place, pause := w.reserve(&v, rules)
	if pause > 0 {
		return w.noSlot(keep, v, pause)
	}
	at := time.Now()
	req := w.request(v.Item.URL, v, rules)
	if w.jar == "" {
		req.Cookie = w.cookieHeader(w.cookiesOf(&v, rules), v.Item.URL, &v, rules, at)
	}
	resp, err := w.p.o.Fetcher.Do(fetching, req)
	if err != nil {
		leave(place)
		r, o := w.failure(err, v.Host, at)
		fallBack(err, &v, rules, &r, &o)
		lose(err, &r, &o)
		return w.finish(keep, v, r, o)
	}
	o := w.p.answered(v, resp, rules)
	w.keepCookies(&v, resp, rules, &o)
	if rules.Settings.Revisits() {
		o.MaxAge = maxAge(resp.Header, resp.Started.Add(resp.Took))
	}
	wait := time.Duration(0)
	// on a page Retry-After has no meaning (RFC 9110, 10.2.3), and a hostile one would hold its host
	// for a year
	if retry.Limited(resp.Status) {
		wait = askedWait(resp.Header, time.Now())
	}
	w.p.o.Source.Release(v, crawl.Response{
		Kind:       o.Kind,
		Requested:  true,
		Took:       o.Took,
		Bytes:      o.Bytes,
		RetryAfter: wait,
		Wall:       o.Wall != wall.None,
	})
	if o.Kind == crawl.Fetched && w.mayShow(&v, resp, rules) {
		return w.show(keep, &fetched{
			v:        v,
			resp:     resp,
			rules:    rules,
			o:        o,
			fetching: fetching,
			takeBack: takeBack,
			place:    place,
		})
	}
	leave(place)
	if o.Kind == crawl.Fetched {
		if is, quick := w.isDocument(&v, resp, rules); is {
			return w.document(keep, &fetched{v: v, resp: resp, rules: rules, o: o}, quick)
		}
	}
	defer resp.Release()
	if o.Wall != wall.None {
		return w.keepWall(keep, v, resp, rules, &o)
	}
	if o.Kind != crawl.Fetched {
		return w.completeVisit(keep, v, o)
	}
	defer w.sitemapTurn(&v, resp)()
	return w.closeVisit(keep, v, w.keep(keep, v, resp, rules, &o), &o)
}

// broken completes a visit whose record could not be stored, and returns the cause. The item stays
// queued: it is not done without its record.
func (w *worker) broken(ctx context.Context, v crawl.Visit, err error, o *crawl.Outcome) error {
	// The outcome carries the claim on the payload, so that no node waits for it.
	gone := crawl.Outcome{
		Kind:      crawl.Aborted,
		Reason:    err.Error(),
		FetchedAt: o.FetchedAt,
		Digest:    o.Digest,
		First:     o.First,
	}
	return errors.Join(err, w.completeVisit(ctx, v, gone))
}

// keep parses a fetched page, archives it and writes what is derived from it: the part of a trip
// that uses the processor.
func (w *worker) keep(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) error {
	if resp.Status == http.StatusNotModified {
		return w.unchanged(ctx, v, resp, rules, o)
	}
	basis, last := w.readBefore(&v, resp, rules, o)
	if last != nil {
		return w.sentAgain(ctx, v, resp, rules, o, *last)
	}
	return w.keepRead(ctx, v, resp, rules, o, basis, nil)
}

// readBefore compares an answer with the last reading of its URL. last is not nil when nothing has
// changed; else basis is what the reading of the answer depends on, 0 when it is read in any case.
func (w *worker) readBefore(
	v *crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) (basis crawl.Basis, last *Reading) {
	basis = w.p.basis(v, resp, rules, o)
	if basis != 0 && v.Item.Refetch {
		o.Digest = digestOf(resp)
		if last := w.p.o.Contents.Read(v.Item.URL); last.Digest == o.Digest && last.Basis.Same(basis) {
			return basis, &last
		}
	}
	return basis, nil
}

// keepRead parses an answer, or the page that was made of it, archives it and writes what is
// derived from it. The outcome gets the basis when the reading is complete.
func (w *worker) keepRead(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
	basis crawl.Basis,
	made *madeOf,
) error {
	page := resp
	if made != nil {
		page = made.page
	}
	w.p.backlog.begin(v.Domain, time.Now())
	defer w.p.backlog.end(v.Domain)
	if err := w.prepare(ctx, &v, rules); err != nil {
		return err
	}
	doc, whole := w.read(v, page, rules, o)
	// A page that says noindex from a later time on is read at each visit: its index entry must go.
	later := doc != nil && doc.NoIndexLater ||
		htmlparse.NoIndexLater(resp.Header["X-Robots-Tag"], rules.Settings.Agent(), resp.Started)
	w.readPreferences(&v, resp, rules, o, doc)
	// else its text is wanted when the owner allows it
	if whole && basis != 0 && !later && !o.SearchRefused() {
		o.Basis = basis.Marked(o.NoIndex, o.Skipped[crawl.SkipDepth] > 0)
	}
	return w.keepParsed(ctx, v, resp, rules, o, doc, made)
}

// store archives an answer and writes what is derived from it.
func (w *worker) store(
	ctx context.Context,
	v *crawl.Visit,
	c crawl.Capture,
	rules *Rules,
	o *crawl.Outcome,
	doc *htmlparse.Document,
	said *metadata.Record,
) (err error) {
	if rules.Settings.Archive {
		if o.Archive, err = w.p.o.Archive.Put(ctx, c); err != nil {
			return err
		}
	}
	return w.derive(ctx, v, &c, o, doc, said)
}

// known finds out whether the page was seen before.
func (w *worker) known(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	o *crawl.Outcome,
) *crawl.Original {
	q := ContentQuestion{URL: v.Item.URL, Digest: o.Digest, Simhash: o.Simhash,
		Countable: len(resp.RawBody) > 0 && o.Truncated == ""}
	if q.Countable && w.p.o.Earlier != nil {
		if first := w.p.o.Earlier.Find(q.Digest); first != nil {
			w.earlier(ctx, q, first, o)
			return first
		}
	}
	if !q.Countable && q.Simhash == 0 {
		return nil
	}
	a := w.p.o.Contents.Seen(ctx, q)
	o.First, o.NearOf = a.First, a.NearOf
	if a.Original != nil && a.Original.URL != v.Item.URL.String() { // else the page is unchanged
		o.DuplicateOf = a.Original.URL
	}
	return a.Original
}

// earlier notes a page whose payload another archive has. Its payload is not claimed: it is not
// stored here, so no other page may refer to it. Its text is shown to those who compare texts.
func (w *worker) earlier(
	ctx context.Context, q ContentQuestion, first *crawl.Original, o *crawl.Outcome,
) {
	if q.Countable = false; q.Simhash != 0 {
		_ = w.p.o.Contents.Seen(ctx, q)
	}
	// Other programs write URLs as they were found.
	if u, err := urlnorm.Parse(first.URL); err != nil || u != q.URL {
		o.DuplicateOf = first.URL
	}
}

// errNoRight is the cause when a request is not sent.
var errNoRight = errors.New("the right to fetch has ended")

// request builds the request for u to the visit's host. Validators belong to the item's own URL and
// are sent only for it.
func (w *worker) request(u urlnorm.URL, v crawl.Visit, rules *Rules) fetcher.Request {
	if u != v.Item.URL {
		rules = rules.of(u)
	}
	r := fetcher.Request{
		URL: u, Addr: v.Addr, UserAgent: rules.Settings.UserAgent,
		MaxBody: rules.Settings.MaxBody, TLSRecord: rules.Settings.TLSRecord, Received: v.Received,
		BeforeWrite: func() error {
			if !w.p.o.Source.MayRequest(v) {
				return errNoRight
			}
			return nil
		},
	}
	r.Timeout, r.HeadTimeout = rules.Settings.Times()
	w.equip(&r, u, &v, rules)
	r.Cookie = w.cookieHeader(w.jar, u, &v, rules, time.Now())
	if u == v.Item.URL {
		r.ETag, r.LastModified = v.Item.ETag, v.Item.LastModified
		_, more := retry.After(v.Item.Attempts+1, v.Retries)
		r.LastTry = !more
	}
	if v.Item.Via == crawl.ViaSitemapFile { // no page: the limit of its kind is the protocol's
		r.MaxBody = max(r.MaxBody, sitemapBytes)
	}
	return r
}

// categories translates the fetcher's classes of failure.
var categories = [...]crawl.ErrCategory{
	fetcher.DNS: crawl.ErrDNS, fetcher.Connect: crawl.ErrConnect, fetcher.TLS: crawl.ErrTLS,
	fetcher.Timeout:  crawl.ErrTimeout,
	fetcher.Protocol: crawl.ErrProtocol, fetcher.Truncated: crawl.ErrTruncated,
	fetcher.BlockedAddress: crawl.ErrBlockedAddress, fetcher.Proxy: crawl.ErrProxy,
	fetcher.Other: crawl.ErrOther,
}

// leastProxyWait is the least wait of a host whose proxies do not work.
const leastProxyWait = time.Second

// isLiteral reports whether a host is an IP address, which no DNS answer changes.
func isLiteral(h crawl.Host) bool {
	_, err := netip.ParseAddr(strings.Trim(string(h), "[]"))
	return err == nil
}

// failure classifies a request without an answer. A host that cannot be reached, or must not be,
// fails as a whole; later failures are the URL's. A forbidden port also fails only the URL: a page
// that links to such a port must not stop the crawl of its host. A forbidden port, and a literal
// address that is denied, are final, as a refusal by robots.txt is; a name may get another address
// next time.
//
// A proxy that fails is no failure of the site: the URL stays queued without an attempt, and the
// host waits until a proxy may be tried again.
func failure(err error, host crawl.Host, at time.Time) (crawl.Response, crawl.Outcome) {
	o := crawl.Outcome{
		Kind:      crawl.URLFailed,
		Category:  crawl.ErrOther,
		Reason:    err.Error(),
		FetchedAt: at,
		Took:      time.Since(at),
	}
	contacted, wait := true, time.Duration(0)
	var fe *fetcher.Error
	if errors.As(err, &fe) {
		o.Category, contacted = categories[fe.Category], fe.Contacted
	}
	switch {
	case o.Category == crawl.ErrProxy && fe.RefusedByProxy(): // the URL fails after its tries
	case o.Category == crawl.ErrProxy:
		o.Kind, wait = crawl.Aborted, max(fe.RetryAfter, leastProxyWait)
	case errors.Is(err, context.Canceled), errors.Is(err, fetcher.ErrRefused):
		o.Kind = crawl.Aborted
	case errors.Is(err, fetcher.ErrPort), o.Category == crawl.ErrBlockedAddress && isLiteral(host):
		o.Kind = crawl.Blocked
	case errors.Is(err, fetcher.ErrFlood): // the next request would get the same answer
		o.Kind = crawl.HostFailed
	case o.Category == crawl.ErrDNS, o.Category == crawl.ErrConnect, o.Category == crawl.ErrTLS,
		o.Category == crawl.ErrBlockedAddress:
		o.Kind = crawl.HostFailed
	}
	return crawl.Response{Kind: o.Kind, Requested: contacted, Took: o.Took, RetryAfter: wait}, o
}

// lose changes the failure of a request on a kept connection that ended without a byte of an
// answer: nothing is known of the URL, and the next request has a new connection.
func lose(err error, r *crawl.Response, o *crawl.Outcome) {
	var fe *fetcher.Error
	if errors.As(err, &fe) && fe.Reused && (o.Kind == crawl.URLFailed || o.Kind == crawl.HostFailed) {
		r.Kind, o.Kind = crawl.Lost, crawl.Lost
	}
}

// triedAgain reports whether a status is no result yet: it may be another one soon, and the URL
// has tries left.
func triedAgain(v *crawl.Visit, status int, rules *Rules) bool {
	if status < http.StatusBadRequest { // most answers
		return false
	}
	statuses, err := retry.ParseStatuses(rules.Settings.RetryList())
	if err != nil { // settings are checked where they come in; the defaults are valid
		return false
	}
	_, more := retry.After(v.Item.Attempts+1, v.Retries)
	return more && statuses.Has(status)
}

// answered starts the outcome of a request that got an answer.
func (p *Pipeline) answered(v crawl.Visit, resp *fetcher.Response, rules *Rules) crawl.Outcome {
	o := crawl.Outcome{
		Kind: crawl.Fetched, Status: resp.Status, FetchedAt: resp.Started, Took: resp.Took,
		Bytes:       resp.WireBytes,
		ContentType: resp.MediaType, Truncated: string(resp.Truncated),
		IsSitemap:   v.Item.Via == crawl.ViaSitemapFile,
		Conditional: resp.Conditional,
	}
	keepValidators(&v, resp, &o)
	if retry.Limited(resp.Status) {
		o.Kind = crawl.RateLimited
		o.Reason = limitReason(resp.Status, askedWait(resp.Header, time.Now()))
	}
	if triedAgain(&v, resp.Status, rules) {
		o.Kind, o.Reason = crawl.URLFailed, retryReason(resp.Status)
	}
	if o.Wall = p.wallOf(resp, rules); o.Wall != wall.None {
		o.Kind, o.Reason, o.ETag, o.LastMod = crawl.RateLimited, crawl.WallReason(o.Wall), "", ""
	}
	return o
}

// cutShort says why a payload is not whole.
var cutShort = map[fetcher.Cut]string{
	fetcher.CutLength:     "the payload was cut at a limit of size (--max-body)",
	fetcher.CutTime:       "the payload took too long: what came in time was stored",
	fetcher.CutDisconnect: "the server ended the payload early: what came was stored",
}

// limitReason is why a host is left alone that answered 429 or 503.
func limitReason(status int, wait time.Duration) string {
	if wait > 0 {
		return fmt.Sprintf("the host answered %d with Retry-After, %v", status, wait.Round(time.Second))
	}
	return fmt.Sprintf("the host answered %d and asks for fewer requests", status)
}

// retryReason is why a URL is tried again that got an answer.
func retryReason(status int) string {
	return fmt.Sprintf("the server answered %d, which may change soon", status)
}

// remark adds warnings to o about an answer that is used all the same.
func remark(resp *fetcher.Response, o *crawl.Outcome) {
	if resp.Truncated != "" {
		o.Reason = joined(o.Reason, cutShort[resp.Truncated])
	}
	if resp.DecodeErr != nil {
		o.Reason = joined(o.Reason, "the payload could not be decoded whole: "+resp.DecodeErr.Error())
	}
	if o.NoIndex {
		o.Reason = joined(o.Reason, "it asks not to be indexed (noindex)")
	}
	if why := certificateError(resp); why != "" {
		o.Category = crawl.ErrTLS
		o.Reason = joined(o.Reason, "fetched in spite of its certificate: "+why)
	}
}

func joined(reason, more string) string {
	switch {
	case reason == "":
		return more
	case more == "":
		return reason
	}
	return reason + "; " + more
}

// certificateError is why the server's certificate does not verify, or "".
func certificateError(resp *fetcher.Response) string {
	if resp.TLS == nil || resp.TLS.Err == nil {
		return ""
	}
	return resp.TLS.Err.Error()
}

// capture is the exchange in the archive's form. agent is the crawl's product token.
func capture(
	v crawl.Visit,
	resp *fetcher.Response,
	o *crawl.Outcome,
	original *crawl.Original,
	agent string,
) crawl.Capture {
	c := crawl.Capture{
		URL: v.Item.URL, FetchedAt: o.FetchedAt, Addr: resp.RemoteAddr, Status: resp.Status,
		RequestHead: resp.RequestHead, ResponseHead: resp.ResponseHead, Body: resp.RawBody,
		Coded:       resp.Coded(),
		ContentType: resp.MediaType, Digest: o.Digest, NoIndex: o.NoIndex,
		Certificate: certificateError(resp),
		Preferences: o.Preferences,
		Original:    original, Simhash: o.Simhash, NearOf: o.NearOf, Truncated: string(resp.Truncated),
	}
	if agent != crawl.DefaultAgent {
		c.RobotsAgent = agent
	}
	return c
}
