module slotlending

go 1.23
