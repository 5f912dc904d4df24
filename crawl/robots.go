package crawl

import "time"

// RobotsAnswer is the result of one request for a robots.txt file. It does not follow redirects.
type RobotsAnswer struct {
	At       time.Time // wall time of the request
	Status   int       // of the answer; 0 when there was none
	Failure  string    // why there was none; "" when there was one
	Location string    // of a redirect, as the server wrote it
	Body     []byte    // of a 2xx answer, decoded; cut at 500 KiB
}
