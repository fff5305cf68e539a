// GORM: AutoMigrate again and again, associations, upsert, hooks, introspection by its migrator.
package main

import (
	"errors"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	. "braiddb.dev/tools"
)

var statements = &recorder{}
var db = Must(gorm.Open(postgres.Open(URL), &gorm.Config{
	Logger: statements, NowFunc: func() time.Time { return time.Unix(86400, 0).UTC() },
}))

// Author has one profile and many books; a hook sets its nickname.
type Author struct {
	ID        uint      `gorm:"primaryKey"`
	UID       string    `gorm:"type:uuid;default:gen_random_uuid()"`
	Email     string    `gorm:"not null;uniqueIndex:authors_email,expression:lower(email)"`
	Nickname  string    `gorm:"size:50;index"`
	Feels     string    `gorm:"type:mood;default:ok"`
	Meta      string    `gorm:"type:jsonb;default:'{}'"`
	Tags      string    `gorm:"type:text[];default:'{}'"`
	Karma     int       `gorm:"check:karma_positive,karma >= 0"`
	Born      time.Time `gorm:"type:date"`
	Profile   Profile   `gorm:"constraint:OnDelete:CASCADE"`
	Books     []Book    `gorm:"constraint:OnDelete:CASCADE"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}

// BeforeCreate gives an author a nickname.
func (a *Author) BeforeCreate(*gorm.DB) error {
	if a.Email == "refused@example.org" {
		return errors.New("refused by the hook")
	}
	if a.Nickname == "" {
		a.Nickname = "nick of " + a.Email
	}
	return nil
}

// Profile belongs to one author.
type Profile struct {
	ID       uint
	AuthorID uint `gorm:"unique"`
	Site     string
}

// Book belongs to an author and has many tags.
type Book struct {
	ID       int64   `gorm:"primaryKey;autoIncrement"`
	AuthorID uint    `gorm:"not null;uniqueIndex:one_title"`
	Title    string  `gorm:"type:varchar(100);not null;uniqueIndex:one_title"`
	Price    float64 `gorm:"type:numeric(10,2);index:,sort:desc,where:price > 10;comment:in euros"`
	Labels   []Label `gorm:"many2many:book_labels"`
}

// Label is shared by many books.
type Label struct {
	ID   uint
	Name string `gorm:"uniqueIndex"`
}

func models() []any { return []any{&Author{}, &Profile{}, &Label{}, &Book{}} }

func main() {
	db.Logger = statements.LogMode(logger.Info)
	Step("migrate", migrate)
	Step("migrate again", migrateAgain)
	Step("a changed model", changedModel)
	Step("introspection", introspection)
	Step("create with associations", createGraph)
	Step("hooks", hooks)
	Step("preload and joins", preload)
	Step("associations", associations)
	Step("upsert", upsert)
	Step("update and returning", update)
	Step("pages and batches", pages)
	Step("locking and raw SQL", raw)
	Step("soft delete", softDelete)
	Step("transactions", transactions)
	Step("errors", failures)
	Step("drop", drop)
}

func migrate() error {
	if err := db.Exec("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')").Error; err != nil {
		return err
	}
	return db.AutoMigrate(models()...)
}

// A second migration finds nothing to change.
func migrateAgain() error {
	statements.changes = nil
	err := db.AutoMigrate(models()...)
	for _, statement := range statements.changes {
		Say(statement)
	}
	return err
}

func changedModel() error {
	type Book struct {
		ID       int64   `gorm:"primaryKey;autoIncrement"`
		AuthorID uint    `gorm:"not null;uniqueIndex:one_title"`
		Title    string  `gorm:"type:varchar(200);not null;uniqueIndex:one_title"`
		Price    float64 `gorm:"type:numeric(12,2);index:,sort:desc,where:price > 10;default:1"`
		Pages    int     `gorm:"not null;default:7"`
	}
	statements.changes = nil
	err := db.AutoMigrate(&Book{})
	for _, statement := range statements.changes {
		Say(statement)
	}
	return err
}

func introspection() error {
	migrator := db.Migrator()
	tables, err := migrator.GetTables()
	if err != nil {
		return err
	}
	Sorted(tables)
	for _, model := range models() {
		columns, err := migrator.ColumnTypes(model)
		if err != nil {
			return err
		}
		for _, column := range columns {
			kind, _ := column.ColumnType()
			length, _ := column.Length()
			precision, scale, _ := column.DecimalSize()
			nullable, _ := column.Nullable()
			unique, _ := column.Unique()
			primary, _ := column.PrimaryKey()
			standard, has := column.DefaultValue()
			comment, _ := column.Comment()
			Say(column.Name(), column.DatabaseTypeName(), kind, length, precision, scale,
				nullable, unique, primary, standard, has, comment)
		}
		indexes, err := migrator.GetIndexes(model)
		if err != nil {
			return err
		}
		var found [][]any
		for _, index := range indexes {
			unique, _ := index.Unique()
			primary, _ := index.PrimaryKey()
			found = append(found, []any{index.Name(), index.Columns(), unique, primary})
		}
		Sorted(found)
	}
	Say(migrator.HasTable("nowhere"), migrator.HasColumn(&Book{}, "title"),
		migrator.HasIndex(&Book{}, "one_title"), migrator.HasConstraint(&Author{}, "Books"),
		migrator.CurrentDatabase() != "")
	return nil
}

func createGraph() error {
	author := Author{
		Email: "ann@example.org", Meta: `{"a": [1, null]}`, Tags: `{x,"y z"}`, Feels: "happy",
		UID: "00000000-0000-4000-8000-000000000001", Born: time.Unix(86400, 0).UTC(),
		Profile: Profile{Site: "https://example.org"},
		Books: []Book{
			{Title: "one", Price: 9.99, Labels: []Label{{Name: "red"}, {Name: "blue"}}},
			{Title: "two", Price: 19.5},
		},
	}
	if err := db.Create(&author).Error; err != nil {
		return err
	}
	author.CreatedAt, author.UpdatedAt = author.CreatedAt.UTC(), author.UpdatedAt.UTC()
	Say(author)
	var books []Book
	for n := 3; n < 28; n++ {
		books = append(books, Book{AuthorID: author.ID, Title: "more", Price: float64(n)})
		books[n-3].Title += string(rune('a' + n - 3))
	}
	result := db.CreateInBatches(&books, 10)
	Say(result.RowsAffected, books[24].ID)
	return result.Error
}

func hooks() error {
	bob := Author{Email: "bob@example.org"}
	if err := db.Create(&bob).Error; err != nil {
		return err
	}
	Say(bob.ID, bob.Nickname, bob.Feels, bob.Meta, bob.Tags, len(bob.UID))
	Fails(db.Create(&Author{Email: "refused@example.org"}).Error)
	return nil
}

func inOrder(query *gorm.DB) *gorm.DB { return query.Order("id") }

func preload() error {
	var authors []Author
	err := db.Preload("Profile").Preload("Books", "id < ?", 4, inOrder).Preload("Books.Labels").
		Order("id").Find(&authors).Error
	if err != nil {
		return err
	}
	for _, author := range authors {
		Say(author.Email, author.Profile, author.Books)
	}
	var profile []Author
	err = db.Joins("Profile").Where(`"Profile"."site" LIKE ?`, "https%").Find(&profile).Error
	Say(len(profile), profile[0].Profile.Site)
	return err
}

func associations() error {
	book := Book{ID: 1}
	labels := func() *gorm.Association { return db.Model(&book).Association("Labels") }
	Say(labels().Count())
	if err := labels().Append(&Label{Name: "green"}); err != nil {
		return err
	}
	if err := labels().Delete(&Label{ID: 1}); err != nil {
		return err
	}
	var found []Label
	err := db.Model(&book).Order("name").Association("Labels").Find(&found)
	Rows(found)
	if err != nil {
		return err
	}
	if err := labels().Replace(&found[0]); err != nil {
		return err
	}
	Say(labels().Count())
	return labels().Clear()
}

func upsert() error {
	for _, price := range []float64{5, 6} {
		book := Book{AuthorID: 1, Title: "upserted", Price: price}
		err := db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "author_id"}, {Name: "title"}},
			DoUpdates: clause.AssignmentColumns([]string{"price"}),
		}, clause.Returning{}).Create(&book).Error
		if err != nil {
			return err
		}
		Say(book.Title, book.Price)
	}
	nothing := db.Clauses(clause.OnConflict{DoNothing: true}).
		Create(&Book{AuthorID: 1, Title: "upserted", Price: 7})
	Say(nothing.RowsAffected)
	var label Label
	err := db.Where(Label{Name: "found"}).Attrs(Label{Name: "found"}).FirstOrCreate(&label).Error
	if err != nil {
		return err
	}
	again := db.Where(Label{Name: "found"}).FirstOrCreate(&label)
	Say(label.Name, again.RowsAffected)
	return again.Error
}

func update() error {
	var changed []Book
	returned := clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "price"}}}
	err := db.Model(&changed).Clauses(returned).
		Where("id <= ?", 2).Update("price", gorm.Expr("price * ? + ?", 2, 1)).Error
	if err != nil {
		return err
	}
	Sorted(changed)
	result := db.Model(&Author{ID: 1}).Updates(map[string]any{"karma": 3, "nickname": "A"})
	Say(result.RowsAffected)
	Fails(db.Model(&Author{ID: 1}).Update("karma", -1).Error)
	var author Author
	err = db.Select("id", "karma", "nickname").First(&author, 1).Error
	Say(author.Karma, author.Nickname)
	return err
}

func pages() error {
	var titles []string
	err := db.Model(&Book{}).Order("id").Offset(5).Limit(3).Pluck("title", &titles).Error
	if err != nil {
		return err
	}
	Say(titles)
	var books []Book
	count := 0
	result := db.Where("price > ?", 1).FindInBatches(&books, 10, func(tx *gorm.DB, batch int) error {
		count += len(books)
		return nil
	})
	Say(count, result.RowsAffected)
	var total int64
	err = db.Model(&Book{}).Distinct("author_id").Count(&total).Error
	Say(total)
	return err
}

func raw() error {
	var sums []map[string]any
	err := db.Model(&Book{}).Select("author_id, count(*) AS n").Group("author_id").
		Having("count(*) > ?", 1).Find(&sums).Error
	if err != nil {
		return err
	}
	Rows(sums)
	var book Book
	err = db.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).First(&book).Error
	Say(book.Title)
	if err != nil {
		return err
	}
	var n int
	err = db.Raw("SELECT CAST(@a AS int) + @b", map[string]any{"a": 1, "b": 2}).Scan(&n).Error
	if err != nil {
		return err
	}
	Say(n)
	rows, err := db.Model(&Book{}).Where("id IN ?", []int{1, 2}).Order("id").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var each Book
		if err := db.ScanRows(rows, &each); err != nil {
			return err
		}
		Say(each.Title, each.Price)
	}
	return nil
}

func softDelete() error {
	if err := db.Delete(&Author{}, 2).Error; err != nil {
		return err
	}
	var left, all int64
	db.Model(&Author{}).Count(&left)
	db.Unscoped().Model(&Author{}).Count(&all)
	Say(left, all)
	return db.Unscoped().Delete(&Author{}, 2).Error
}

func transactions() error {
	err := db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Label{Name: "kept"}).Error; err != nil {
			return err
		}
		Fails(tx.Transaction(func(nested *gorm.DB) error {
			nested.Create(&Label{Name: "undone"})
			return nested.Exec("SELECT * FROM nowhere").Error
		}))
		return tx.Create(&Label{Name: "kept too"}).Error
	})
	if err != nil {
		return err
	}
	Fails(db.Transaction(func(tx *gorm.DB) error {
		tx.Create(&Label{Name: "undone"})
		return errors.New("undone")
	}))
	var names []string
	err = db.Model(&Label{}).Order("name").Pluck("name", &names).Error
	Say(names)
	return err
}

func failures() error {
	Fails(db.Create(&Book{AuthorID: 1, Title: "one"}).Error)
	Fails(db.Create(&Book{AuthorID: 99, Title: "one"}).Error)
	Fails(db.Create(&Author{Email: "ANN@example.org"}).Error)
	Fails(db.First(&Book{}, 9999).Error)
	Fails(db.Exec("SELECT * FROM nowhere").Error)
	translating := db.Session(&gorm.Session{})
	translating.Config.TranslateError = true
	err := translating.Create(&Book{AuthorID: 1, Title: "one"}).Error
	Say(errors.Is(err, gorm.ErrDuplicatedKey))
	translating.Config.TranslateError = false
	var n int
	err = db.Raw("SELECT 1").Scan(&n).Error
	Say(n)
	return err
}

func drop() error {
	migrator := db.Migrator()
	err := errors.Join(
		migrator.RenameColumn(&Label{}, "name", "title"),
		migrator.RenameIndex(&Book{}, "one_title", "single_title"),
		migrator.DropConstraint(&Author{}, "karma_positive"),
		migrator.DropColumn(&Book{}, "pages"),
		migrator.DropIndex(&Author{}, "authors_email"),
		migrator.DropTable("book_labels", &Book{}, &Profile{}, &Author{}, &Label{}),
	)
	tables, _ := migrator.GetTables()
	Sorted(tables)
	return err
}
