package fetcher

import "time"

// deliveryLimit bounds the time from the check whether a request may be sent (BeforeWrite) until
// the server has it. It is the deadline of the write and, where the operating system supports it
// (limitDelivery), the time for which unacknowledged bytes are retransmitted. A request must not be
// delivered long after its check.
const deliveryLimit = 2 * time.Second
