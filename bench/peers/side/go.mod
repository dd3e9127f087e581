module github.com/sendlimit/sendlimiter/bench/peers/side

go 1.26.0
