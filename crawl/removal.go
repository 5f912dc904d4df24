package crawl

// RemovedByHand is the reason in the record of a URL that a person has removed from the queue.
const RemovedByHand = "it was removed from the queue by hand; crawlnode seeds add brings it back"

// What became of a URL that was to be removed from the queue (Removal.State).
const (
	RemovalDone     = "removed"
	RemovalInFlight = "in_flight" // it is being fetched
	RemovalTooLate  = "done"      // it was fetched, has failed or was refused before
	RemovalUnknown  = "unknown"   // no node knows it
)

// RemovalReport is the document of POST /api/v1/seeds/remove.
type RemovalReport struct {
	Removed  int         `json:"removed"`
	InFlight int         `json:"in_flight"`
	Done     int         `json:"done"`
	Unknown  int         `json:"unknown"`
	URLs     []Removal   `json:"urls"` // in the order of the request, without the invalid ones
	Invalid  []SeedError `json:"invalid"`
}

// Removal is what became of one URL.
type Removal struct {
	URL   string `json:"url"`   // canonical
	State string `json:"state"` // RemovalDone...
}

// Add adds one URL's part to the report.
func (r *RemovalReport) Add(url, state string) {
	r.URLs = append(r.URLs, Removal{url, state})
	switch state {
	case RemovalDone:
		r.Removed++
	case RemovalInFlight:
		r.InFlight++
	case RemovalTooLate:
		r.Done++
	case RemovalUnknown:
		r.Unknown++
	}
}
