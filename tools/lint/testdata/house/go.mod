module github.com/sendlimit/sendlimiter

go 1.26.0
