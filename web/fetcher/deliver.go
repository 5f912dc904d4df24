package fetcher

import "time"

// deliveryLimit bounds the time from the moment at which a request may be sent
// to the one at which the server has it: as the deadline of the write, and, where
// the operating system can (limitDelivery), as the time for which it repeats
// bytes that are not acknowledged. Who asks before the write whether it may
// must not have the request delivered long after the answer.
const deliveryLimit = 2 * time.Second
