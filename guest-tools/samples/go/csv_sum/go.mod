module csv_sum

go 1.21
