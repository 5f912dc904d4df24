package crawl

import "time"

// RobotsAnswer is what one request for a robots.txt file brought. Redirects are
// not followed in it.
type RobotsAnswer struct {
	At       time.Time // wall time of the request
	Status   int       // of the answer; 0 when there was none
	Failure  string    // why there was none; "" when there was one
	Location string    // of a redirect, as the server wrote it
	Body     []byte    // of a 2xx answer, decoded; what is beyond 500 KiB is cut off
}
