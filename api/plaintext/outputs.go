package plaintext

import (
	"bytes"

	"crawlnode/crawl"
)

// writeOutputs writes a line for each output besides the archives that is in use: the index, the
// browsers, the object store, the sinks and the webhooks.
func writeOutputs(b *bytes.Buffer, s *crawl.Status) {
	if x := s.Index; x.Documents > 0 || x.Waiting > 0 {
		row(b, "index",
			"%s documents, %s; %s changes wait, %s behind; %s queries, half within %s, 99%% within %s",
			Count(x.Documents), Bytes(x.Bytes),
			Count(x.Waiting), seconds(&x.BehindSeconds), Count(x.QueriesTotal), millis(x.Seconds.P50),
			millis(x.Seconds.P99))
	}
	if r := s.Render; r.Mode != "" && r.Mode != crawl.RenderOff {
		browser := "no browser"
		if r.Browser != nil {
			browser = *r.Browser
		}
		row(b, "render", "%s: %d of %d busy, %d queued; %s pages, half within %s, 99%% within %s; "+
			"%s failed, %s timeouts, %s requests refused, %s from the cache (%s)", r.Mode,
			r.Busy, r.Max, r.Queued, Count(r.PagesTotal), seconds(r.Seconds.P50), seconds(r.Seconds.P99),
			Count(r.FailedTotal), Count(r.TimeoutsTotal),
			Count(r.RefusedRequestsTotal), Count(r.CacheHitsTotal), browser)
	}
	if u := s.Output.Upload; u != (crawl.UploadStatus{}) {
		row(b, "upload", "%s in the store; %s files wait, %s behind; %s failed attempts",
			Bytes(u.BytesTotal), Count(u.QueuedFiles), seconds(&u.BehindSeconds), Count(u.FailedTotal))
	}
	for i := range s.Output.Sinks {
		k := &s.Output.Sinks[i]
		failing := ""
		if k.Error != nil {
			failing = "; now: " + *k.Error
		}
		row(b, "sink", "%s: %s events, %s behind, %s refused batches%s", k.Sink, Count(k.EventsTotal),
			seconds(&k.BehindSeconds), Count(k.ErrorsTotal), failing)
	}
	for i := range s.Output.Webhooks {
		k := &s.Output.Webhooks[i]
		failing := ""
		if k.Error != nil {
			failing = "; now: " + *k.Error
		}
		row(b, "webhook", "%s: %s events taken, %s wait, %s behind, %s lost, %s failed attempts%s",
			k.Webhook, Count(k.EventsTotal), Count(k.Queued),
			seconds(&k.BehindSeconds), Count(k.LostTotal), Count(k.ErrorsTotal), failing)
	}
}
