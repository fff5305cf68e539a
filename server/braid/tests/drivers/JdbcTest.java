import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import javax.sql.XAConnection;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;
import org.postgresql.xa.PGXADataSource;

/**
 * pgjdbc against a server: {@code java -cp postgresql.jar JdbcTest.java jdbc:postgresql://…}.
 *
 * <p>Does what programs and their tools do with it: parameters and results in text and in binary,
 * all basic types there and back, batches, generated keys, COPY, transactions, SQLSTATEs, and the
 * metadata calls. The same file passes on PostgreSQL 15. Prints a line for each failure and the
 * counts; exits 1 when one failed.
 */
public final class JdbcTest {
  private static final String SCHEMA = "jdbc_test";
  private static String url;
  private static int passed;
  private static int failed;

  private JdbcTest() {}

  /** One check on a connection of its own. */
  private interface Check {
    void run(Connection connection) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    url = args[0];
    prepare();
    for (String mode : new String[] {"text", "binary", "simple"}) {
      check("types in " + mode, mode, JdbcTest::types);
      check("prepared statements in " + mode, mode, JdbcTest::preparedStatements);
      check("batches in " + mode, mode, JdbcTest::batches);
      check("transactions in " + mode, mode, JdbcTest::transactions);
      check("errors in " + mode, mode, JdbcTest::errors);
    }
    check("generated keys", "binary", JdbcTest::generatedKeys);
    check("fetch size", "binary", JdbcTest::fetchSize);
    check("copy", "binary", JdbcTest::copy);
    check("cancel", "binary", JdbcTest::cancel);
    check("parameter metadata", "binary", JdbcTest::parameterMetadata);
    check("updatable results", "binary", JdbcTest::updatableResults);
    check("XA", "binary", JdbcTest::distributedTransactions);
    check("products", "binary", JdbcTest::products);
    check("getTables", "binary", JdbcTest::tables);
    check("getColumns", "binary", JdbcTest::columns);
    check("getPrimaryKeys", "binary", JdbcTest::primaryKeys);
    check("getIndexInfo", "binary", JdbcTest::indexes);
    check("getImportedKeys", "binary", JdbcTest::importedKeys);
    check("getTypeInfo", "binary", JdbcTest::typeInfo);
    check("getSchemas, getCatalogs, getTableTypes", "binary", JdbcTest::schemas);
    check("getTablePrivileges", "binary", JdbcTest::privileges);
    check("getFunctions, getProcedures", "binary", JdbcTest::functions);
    try (Connection connection = connect("binary"); Statement st = connection.createStatement()) {
      st.execute("DROP SCHEMA " + SCHEMA + " CASCADE");
    }
    String version = org.postgresql.util.DriverInfo.DRIVER_VERSION;
    System.out.printf("JDBC %s: %d passed, %d failed%n", version, passed, failed);
    System.exit(failed == 0 ? 0 : 1);
  }

  private static void check(String name, String mode, Check body) {
    try (Connection connection = connect(mode)) {
      body.run(connection);
      passed++;
    } catch (Exception | AssertionError error) {
      failed++;
      String state = error instanceof SQLException sql ? sql.getSQLState() + " " : "";
      System.out.printf("FAILED JDBC %s: %s%s%n", name, state, error.getMessage());
      if (!(error instanceof AssertionError)) {
        Arrays.stream(error.getStackTrace())
            .filter(frame -> frame.getClassName().equals("JdbcTest"))
            .limit(2)
            .forEach(frame -> System.out.println("    at line " + frame.getLineNumber()));
      }
    }
  }

  /** {@code text}: never binary; {@code binary}: from the first use; {@code simple}: one message. */
  private static Connection connect(String mode) throws SQLException {
    Properties options = new Properties();
    options.setProperty("currentSchema", SCHEMA);
    options.setProperty("ApplicationName", "braid jdbc test");
    switch (mode) {
      case "text" -> options.setProperty("binaryTransfer", "false");
      case "simple" -> options.setProperty("preferQueryMode", "simple");
      default -> {
        options.setProperty("binaryTransfer", "true");
        options.setProperty("prepareThreshold", "-1");
      }
    }
    return DriverManager.getConnection(url, options);
  }

  private static void equal(Object found, Object expected) {
    boolean same =
        found instanceof byte[] left && expected instanceof byte[] right
            ? Arrays.equals(left, right)
            : Objects.equals(found, expected);
    if (!same) {
      throw new AssertionError("found " + found + ", expected " + expected);
    }
  }

  private static void expectState(String state, Check body, Connection connection)
      throws Exception {
    try {
      body.run(connection);
    } catch (SQLException error) {
      if (!state.equals(error.getSQLState())) {
        throw new AssertionError(
            "expected " + state + ", found " + error.getSQLState() + " " + error.getMessage());
      }
      return;
    }
    throw new AssertionError("expected " + state + ", found no error");
  }

  private static void run(Connection connection, String... statements) throws SQLException {
    try (Statement st = connection.createStatement()) {
      for (String statement : statements) {
        st.execute(statement);
      }
    }
  }

  /** All rows of the named columns, as text, joined by a bar. */
  private static List<String> rows(ResultSet results, String... columns) throws SQLException {
    List<String> found = new ArrayList<>();
    try (results) {
      while (results.next()) {
        List<String> row = new ArrayList<>();
        for (String column : columns) {
          row.add(results.getString(column));
        }
        found.add(String.join("|", row.stream().map(String::valueOf).toList()));
      }
    }
    return found;
  }

  private static List<String> query(Connection connection, String sql) throws SQLException {
    try (Statement st = connection.createStatement(); ResultSet rs = st.executeQuery(sql)) {
      int count = rs.getMetaData().getColumnCount();
      List<String> found = new ArrayList<>();
      while (rs.next()) {
        List<String> row = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
          row.add(String.valueOf(rs.getString(i)));
        }
        found.add(String.join("|", row));
      }
      return found;
    }
  }

  private static void prepare() throws SQLException {
    try (Connection connection = DriverManager.getConnection(url)) {
      run(
          connection,
          "DROP SCHEMA IF EXISTS " + SCHEMA + " CASCADE",
          "CREATE SCHEMA " + SCHEMA,
          "SET search_path = " + SCHEMA,
          "CREATE TABLE parent (id int PRIMARY KEY, name varchar(40) NOT NULL UNIQUE)",
          "COMMENT ON TABLE parent IS 'people'",
          "CREATE TABLE child (a int DEFAULT 7, b text, parent_id int NOT NULL"
              + " REFERENCES parent (id), amount numeric(10,2), made timestamptz,"
              + " serial bigserial, CONSTRAINT child_pk PRIMARY KEY (b, a))",
          "CREATE INDEX child_parent ON child (parent_id, amount DESC)",
          "CREATE VIEW rich AS SELECT a, amount FROM child WHERE amount > 1000",
          "INSERT INTO parent VALUES (1, 'Ada'), (2, 'Grace')");
    }
  }

  private record Value(String type, Object value, Class<?> as) {
    Value(String type, Object value) {
      this(type, value, value.getClass());
    }
  }

  private static List<Value> values() {
    return List.of(
        new Value("bool", true),
        new Value("int2", (short) -7, Short.class),
        new Value("int4", Integer.MIN_VALUE),
        new Value("int8", Long.MAX_VALUE),
        new Value("float4", 1.5f),
        new Value("float8", 0.1),
        new Value("float8", Double.NEGATIVE_INFINITY),
        new Value("numeric", new BigDecimal("-12345678901234567890.0123456789")),
        new Value("numeric(8,2)", new BigDecimal("99.50")),
        new Value("text", "ünïcödé 🦀 'quoted' \\ \n"),
        new Value("text", ""),
        new Value("varchar(10)", "ten chars!"),
        new Value("bytea", new byte[] {0, 1, -1, 92}),
        new Value("uuid", UUID.fromString("12345678-1234-5678-1234-567812345678")),
        new Value("date", LocalDate.of(2024, 2, 29)),
        new Value("time", LocalTime.of(23, 59, 58, 123456000)),
        new Value("timestamp", LocalDateTime.of(2024, 2, 29, 12, 30, 15, 123456000)),
        new Value("timestamptz", OffsetDateTime.of(2024, 2, 29, 12, 30, 15, 0, ZoneOffset.UTC)));
  }

  private static void types(Connection connection) throws Exception {
    connection.setAutoCommit(false);
    int number = 0;
    for (Value one : values()) {
      String table = "value_" + number++;
      run(connection, "CREATE TABLE " + table + " (k int PRIMARY KEY, v " + one.type + ")");
      String insert = "INSERT INTO " + table + " VALUES (?, ?), (?, NULL)";
      try (PreparedStatement st = connection.prepareStatement(insert)) {
        st.setInt(1, 1);
        st.setObject(2, one.value);
        st.setInt(3, 2);
        equal(st.executeUpdate(), 2);
      } catch (SQLException error) {
        throw new AssertionError(one.type + ": " + error.getMessage(), error);
      }
      String select = "SELECT v FROM " + table + " WHERE k >= ? ORDER BY k";
      for (int again = 0; again < 3; again++) {
        try (PreparedStatement st = connection.prepareStatement(select)) {
          st.setInt(1, 0);
          try (ResultSet rs = st.executeQuery()) {
            rs.next();
            Object found =
                one.value instanceof byte[] ? rs.getBytes(1) : rs.getObject(1, one.as);
            equal(found, one.value);
            rs.next();
            equal(rs.getObject(1), null);
            equal(rs.wasNull(), true);
          }
        }
      }
    }
    objects(connection);
    connection.rollback();
  }

  private static void objects(Connection connection) throws Exception {
    try (PreparedStatement st = connection.prepareStatement("SELECT ?::jsonb ->> 'a', ?::interval")) {
      PGobject json = new PGobject();
      json.setType("jsonb");
      json.setValue("{\"a\": [1, 2]}");
      st.setObject(1, json);
      st.setObject(2, new org.postgresql.util.PGInterval(0, 1, 2, 3, 4, 5.5));
      try (ResultSet rs = st.executeQuery()) {
        rs.next();
        equal(rs.getString(1), "[1, 2]");
        equal(
            rs.getObject(2),
            new org.postgresql.util.PGInterval(0, 1, 2, 3, 4, 5.5));
      }
    }
    run(connection, "CREATE TABLE lists (k int PRIMARY KEY, i int4[], t text[], n numeric[])");
    try (PreparedStatement st =
        connection.prepareStatement("INSERT INTO lists VALUES (1, ?, ?, ?)")) {
      st.setArray(1, connection.createArrayOf("int4", new Integer[] {1, null, 3}));
      st.setArray(2, connection.createArrayOf("text", new String[] {"a,b", "\"q\"", ""}));
      st.setArray(3, connection.createArrayOf("numeric", new BigDecimal[] {BigDecimal.ONE}));
      st.executeUpdate();
    }
    try (PreparedStatement st = connection.prepareStatement("SELECT i, t, n FROM lists");
        ResultSet rs = st.executeQuery()) {
      rs.next();
      equal(Arrays.toString((Object[]) rs.getArray(1).getArray()), "[1, null, 3]");
      equal(Arrays.asList((Object[]) rs.getArray(2).getArray()), List.of("a,b", "\"q\"", ""));
      Array numerics = rs.getArray(3);
      equal(numerics.getBaseTypeName(), "numeric");
      equal(Arrays.toString((Object[]) numerics.getArray()), "[1]");
    }
    try (PreparedStatement st =
        connection.prepareStatement("SELECT count(*) FROM parent WHERE id = ANY (?)")) {
      st.setArray(1, connection.createArrayOf("int4", new Integer[] {1, 2, 3}));
      try (ResultSet rs = st.executeQuery()) {
        rs.next();
        equal(rs.getLong(1), 2L);
      }
    }
  }

  private static void preparedStatements(Connection connection) throws Exception {
    String sql = "SELECT id, name FROM parent WHERE id = ?";
    try (PreparedStatement st = connection.prepareStatement(sql)) {
      for (int i = 0; i < 12; i++) {
        st.setInt(1, 1 + i % 2);
        try (ResultSet rs = st.executeQuery()) {
          equal(rs.next(), true);
          equal(rs.getString("name"), i % 2 == 0 ? "Ada" : "Grace");
          equal(rs.next(), false);
        }
      }
    }
    try (PreparedStatement st =
        connection.prepareStatement("SELECT ? || ' and ' || ?, ? + 1, ? IS NULL")) {
      st.setString(1, "a");
      st.setString(2, "b");
      st.setInt(3, 41);
      st.setNull(4, Types.INTEGER);
      try (ResultSet rs = st.executeQuery()) {
        rs.next();
        equal(rs.getString(1), "a and b");
        equal(rs.getInt(2), 42);
        equal(rs.getBoolean(3), true);
      }
    }
    try (PreparedStatement st =
        connection.prepareStatement("SELECT name FROM parent ORDER BY id LIMIT ? OFFSET ?")) {
      st.setInt(1, 1);
      st.setInt(2, 1);
      try (ResultSet rs = st.executeQuery()) {
        rs.next();
        equal(rs.getString(1), "Grace");
      }
    }
    try (Statement st = connection.createStatement()) {
      equal(st.execute("SELECT 1; SELECT 2; SELECT 3"), true);
      equal(st.getMoreResults(), true);
      equal(st.getMoreResults(), true);
      try (ResultSet rs = st.getResultSet()) {
        rs.next();
        equal(rs.getInt(1), 3);
      }
    }
  }

  private static void batches(Connection connection) throws Exception {
    run(connection, "CREATE TABLE batch (k int PRIMARY KEY, v text)");
    try {
      connection.setAutoCommit(false);
      try (PreparedStatement st = connection.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
        for (int k = 0; k < 1000; k++) {
          st.setInt(1, k);
          st.setString(2, "value " + k);
          st.addBatch();
        }
        equal(Arrays.stream(st.executeBatch()).sum(), 1000);
      }
      connection.commit();
      try (PreparedStatement st = connection.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
        for (int k : new int[] {2000, 1, 2001}) {
          st.setInt(1, k);
          st.setString(2, "again");
          st.addBatch();
        }
        st.executeBatch();
        throw new AssertionError("a duplicate in a batch went through");
      } catch (BatchUpdateException error) {
        equal(error.getSQLState(), "23505");
      }
      connection.rollback();
      equal(query(connection, "SELECT count(*) FROM batch"), List.of("1000"));
      connection.rollback();
      connection.setAutoCommit(true);
      try (Statement st = connection.createStatement()) {
        st.addBatch("UPDATE batch SET v = 'x' WHERE k < 10");
        st.addBatch("DELETE FROM batch WHERE k >= 990");
        equal(Arrays.toString(st.executeBatch()), "[10, 10]");
      }
    } finally {
      connection.setAutoCommit(true);
      run(connection, "DROP TABLE batch");
    }
  }

  private static void transactions(Connection connection) throws Exception {
    run(connection, "CREATE TABLE account (id int PRIMARY KEY, balance int)");
    try {
      connection.setAutoCommit(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      equal(connection.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
      run(connection, "INSERT INTO account VALUES (1, 100)");
      Savepoint savepoint = connection.setSavepoint("before");
      run(connection, "INSERT INTO account VALUES (2, 200)");
      connection.rollback(savepoint);
      Savepoint second = connection.setSavepoint();
      expectState("23505", c -> run(c, "INSERT INTO account VALUES (1, 0)"), connection);
      expectState("25P02", c -> run(c, "SELECT 1"), connection);
      connection.rollback(second);
      run(connection, "INSERT INTO account VALUES (3, 300)");
      connection.releaseSavepoint(second);
      connection.commit();
      equal(query(connection, "SELECT id FROM account ORDER BY id"), List.of("1", "3"));
      connection.rollback();
      for (int level :
          new int[] {
            Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ
          }) {
        connection.setTransactionIsolation(level);
        equal(connection.getTransactionIsolation(), level);
        equal(query(connection, "SELECT count(*) FROM account"), List.of("2"));
        connection.rollback();
      }
      connection.setReadOnly(true);
      expectState("25006", c -> run(c, "DELETE FROM account"), connection);
      connection.rollback();
      connection.setReadOnly(false);
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
      run(connection, "DROP TABLE account");
    }
  }

  private static void errors(Connection connection) throws Exception {
    String[][] cases = {
      {"42P01", "SELECT * FROM nowhere"},
      {"42703", "SELECT nothing FROM parent"},
      {"42883", "SELECT nofunction(1)"},
      {"42601", "SELEC 1"},
      {"22012", "SELECT 1 / 0"},
      {"22P02", "SELECT 'x'::int4"},
      {"22003", "SELECT 3000000000::int4"},
      {"22007", "SELECT 'abc'::date"},
      {"23505", "INSERT INTO parent VALUES (1, 'again')"},
      {"23502", "INSERT INTO parent VALUES (9, NULL)"},
      {"23503", "INSERT INTO child VALUES (1, 'b', 99)"},
      {"23503", "INSERT INTO child VALUES (1, 'b', 1); DELETE FROM parent WHERE id = 1"},
      {"22001", "INSERT INTO parent VALUES (8, repeat('x', 41))"},
      {"42P07", "CREATE TABLE parent (a int)"},
      {"3F000", "CREATE TABLE no_such_schema.t (a int)"},
      {"42702", "SELECT name FROM parent a, parent b"},
      {"42803", "SELECT id, count(*) FROM parent GROUP BY name"},
      {"0A000", "SELECT * FROM other_database.public.t"},
    };
    for (String[] one : cases) {
      try {
        expectState(one[0], c -> run(c, one[1]), connection);
      } catch (AssertionError error) {
        throw new AssertionError(one[1] + ": " + error.getMessage(), error);
      }
    }
    try {
      run(connection, "INSERT INTO parent VALUES (1, 'again')");
    } catch (PSQLException error) {
      equal(error.getServerErrorMessage().getConstraint(), "parent_pkey");
      equal(error.getServerErrorMessage().getTable(), "parent");
      equal(error.getServerErrorMessage().getDetail(), "Key (id)=(1) already exists.");
    }
    equal(query(connection, "SELECT 1"), List.of("1"));
  }

  private static void generatedKeys(Connection connection) throws Exception {
    run(connection, "CREATE TABLE numbered (id bigserial PRIMARY KEY, v text)");
    try (PreparedStatement st =
        connection.prepareStatement(
            "INSERT INTO numbered (v) VALUES (?), (?)", Statement.RETURN_GENERATED_KEYS)) {
      st.setString(1, "a");
      st.setString(2, "b");
      equal(st.executeUpdate(), 2);
      equal(rows(st.getGeneratedKeys(), "id", "v"), List.of("1|a", "2|b"));
    }
    String insert = "INSERT INTO numbered (v) VALUES (?)";
    try (PreparedStatement st = connection.prepareStatement(insert, new String[] {"id"})) {
      for (String v : new String[] {"c", "d"}) {
        st.setString(1, v);
        st.addBatch();
      }
      st.executeBatch();
      equal(rows(st.getGeneratedKeys(), "id"), List.of("3", "4"));
    }
    run(connection, "DROP TABLE numbered");
  }

  private static void fetchSize(Connection connection) throws Exception {
    connection.setAutoCommit(false);
    try (PreparedStatement st = connection.prepareStatement("SELECT generate_series(1, 1000)")) {
      st.setFetchSize(7);
      long total = 0;
      try (ResultSet rs = st.executeQuery()) {
        while (rs.next()) {
          total += rs.getInt(1);
        }
      }
      equal(total, 500500L);
      st.setMaxRows(5);
      try (ResultSet rs = st.executeQuery()) {
        int count = 0;
        while (rs.next()) {
          count++;
        }
        equal(count, 5);
      }
    }
    connection.rollback();
  }

  private static void copy(Connection connection) throws Exception {
    run(connection, "CREATE TABLE copied (k int PRIMARY KEY, v text)");
    CopyManager manager = connection.unwrap(PGConnection.class).getCopyAPI();
    var source = new java.io.StringReader("1\tone\n2\t\\N\n3\tthree\n");
    equal(manager.copyIn("COPY copied FROM STDIN", source), 3L);
    var target = new java.io.StringWriter();
    equal(manager.copyOut("COPY copied TO STDOUT (FORMAT csv)", target), 3L);
    equal(target.toString(), "1,one\n2,\n3,three\n");
    run(connection, "DROP TABLE copied");
  }

  private static void cancel(Connection connection) throws Exception {
    try (Statement st = connection.createStatement()) {
      Thread killer =
          new Thread(
              () -> {
                try {
                  Thread.sleep(300);
                  st.cancel();
                } catch (Exception error) {
                  System.out.println("cancel: " + error.getMessage());
                }
              });
      killer.start();
      expectState("57014", c -> st.execute("SELECT pg_sleep(60)"), connection);
      killer.join();
    }
    equal(query(connection, "SELECT 1"), List.of("1"));
  }

  private static void parameterMetadata(Connection connection) throws Exception {
    String sql = "SELECT id, name AS label, amount FROM parent JOIN child ON parent_id = id"
        + " WHERE id = ? AND name LIKE ? AND made > ?";
    try (PreparedStatement st = connection.prepareStatement(sql)) {
      equal(st.getParameterMetaData().getParameterTypeName(1), "int4");
      equal(st.getParameterMetaData().getParameterTypeName(2), "text");
      equal(st.getParameterMetaData().getParameterTypeName(3), "timestamptz");
      ResultSetMetaData columns = st.getMetaData();
      equal(columns.getColumnCount(), 3);
      equal(columns.getColumnLabel(2), "label");
      equal(columns.getColumnTypeName(2), "varchar");
      equal(columns.getPrecision(2), 40);
      equal(columns.getScale(3), 2);
      equal(columns.getTableName(1), "parent");
      equal(columns.getColumnName(2), "label");
      equal(columns.isNullable(1), ResultSetMetaData.columnNoNulls);
      equal(columns.isNullable(3), ResultSetMetaData.columnNullable);
    }
  }

  private static void updatableResults(Connection connection) throws Exception {
    connection.setAutoCommit(false);
    try (Statement st =
            connection.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
        ResultSet rs = st.executeQuery("SELECT id, name FROM parent ORDER BY id")) {
      equal(rs.last(), true);
      equal(rs.getRow(), 2);
      rs.updateString("name", "Hopper");
      rs.updateRow();
      rs.moveToInsertRow();
      rs.updateInt("id", 3);
      rs.updateString("name", "Barbara");
      rs.insertRow();
    }
    equal(
        query(connection, "SELECT name FROM parent ORDER BY id"),
        List.of("Ada", "Hopper", "Barbara"));
    connection.rollback();
  }

  /** A branch of a distributed transaction. */
  private record Branch(byte[] global, byte[] qualifier) implements Xid {
    static Branch of(String name) {
      return new Branch(name.getBytes(StandardCharsets.UTF_8), new byte[] {1});
    }

    @Override
    public int getFormatId() {
      return 7;
    }

    @Override
    public byte[] getGlobalTransactionId() {
      return global;
    }

    @Override
    public byte[] getBranchQualifier() {
      return qualifier;
    }
  }

  private static void distributedTransactions(Connection connection) throws Exception {
    PGXADataSource source = new PGXADataSource();
    source.setUrl(url);
    run(connection, "CREATE TABLE xa (a int PRIMARY KEY)");
    String table = SCHEMA + ".xa";
    Branch kept = Branch.of("jdbc kept");
    Branch dropped = Branch.of("jdbc dropped");
    XAConnection first = source.getXAConnection();
    for (Branch branch : List.of(kept, dropped)) {
      XAResource resource = first.getXAResource();
      resource.start(branch, XAResource.TMNOFLAGS);
      int row = branch == kept ? 1 : 2;
      run(first.getConnection(), "INSERT INTO " + table + " VALUES (" + row + ")");
      resource.end(branch, XAResource.TMSUCCESS);
      equal(resource.prepare(branch), XAResource.XA_OK);
    }
    first.close();
    XAConnection second = source.getXAConnection();
    XAResource resource = second.getXAResource();
    int found = 0;
    for (Xid xid : resource.recover(XAResource.TMSTARTRSCAN)) {
      String name = new String(xid.getGlobalTransactionId(), StandardCharsets.UTF_8);
      if (name.equals("jdbc kept")) {
        resource.commit(xid, false);
        found++;
      } else if (name.equals("jdbc dropped")) {
        resource.rollback(xid);
        found++;
      }
    }
    equal(found, 2);
    resource.start(kept, XAResource.TMNOFLAGS);
    run(second.getConnection(), "INSERT INTO " + table + " VALUES (3)");
    resource.end(kept, XAResource.TMSUCCESS);
    resource.commit(kept, true);
    second.close();
    try (Statement statement = connection.createStatement()) {
      equal(rows(statement.executeQuery("SELECT a FROM xa ORDER BY a"), "a"), List.of("1", "3"));
    }
    run(connection, "DROP TABLE xa");
  }

  private static void products(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    equal(data.getDatabaseProductName(), "PostgreSQL");
    equal(data.getDatabaseMajorVersion() >= 13, true);
    equal(data.getMaxColumnNameLength(), 63);
    equal(connection.getSchema(), SCHEMA);
    equal(connection.isValid(5), true);
    equal(data.getSQLKeywords().isEmpty(), false);
    equal(data.getUserName().isEmpty(), false);
    equal(connection.getCatalog(), query(connection, "SELECT current_database()").get(0));
  }

  private static void tables(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    String[] kinds = {"TABLE", "VIEW"};
    equal(
        rows(data.getTables(null, SCHEMA, "%", kinds), "TABLE_NAME", "TABLE_TYPE", "REMARKS"),
        List.of("child|TABLE|null", "parent|TABLE|people", "rich|VIEW|null"));
    List<String> all = rows(data.getTables(null, SCHEMA, "child%", null), "TABLE_NAME");
    equal(all.contains("child_pk"), true);
    equal(all.contains("child_serial_seq"), true);
    List<String> system =
        rows(data.getTables(null, "pg_catalog", "pg_class", null), "TABLE_TYPE");
    equal(system, List.of("SYSTEM TABLE"));
  }

  private static void columns(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    List<String> found =
        rows(
            data.getColumns(null, SCHEMA, "child", "%"),
            "COLUMN_NAME",
            "TYPE_NAME",
            "COLUMN_SIZE",
            "DECIMAL_DIGITS",
            "IS_NULLABLE",
            "COLUMN_DEF",
            "ORDINAL_POSITION",
            "IS_AUTOINCREMENT");
    equal(
        found,
        List.of(
            "a|int4|10|0|NO|7|1|NO",
            "b|text|2147483647|0|NO|null|2|NO",
            "parent_id|int4|10|0|NO|null|3|NO",
            "amount|numeric|10|2|YES|null|4|NO",
            "made|timestamptz|35|6|YES|null|5|NO",
            "serial|bigserial|19|0|NO|nextval('child_serial_seq'::regclass)|6|YES"));
    found = rows(data.getColumns(null, SCHEMA, "rich", "a%"), "COLUMN_NAME", "DATA_TYPE");
    equal(found, List.of("a|" + Types.INTEGER, "amount|" + Types.NUMERIC));
  }

  private static void primaryKeys(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    equal(
        rows(data.getPrimaryKeys(null, SCHEMA, "child"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"),
        List.of("b|1|child_pk", "a|2|child_pk"));
    equal(
        rows(data.getPrimaryKeys(null, SCHEMA, "parent"), "COLUMN_NAME", "PK_NAME"),
        List.of("id|parent_pkey"));
    equal(rows(data.getPrimaryKeys(null, SCHEMA, "rich"), "COLUMN_NAME"), List.of());
    equal(
        rows(data.getBestRowIdentifier(null, SCHEMA, "child", 2, false), "COLUMN_NAME").size(), 2);
  }

  private static void indexes(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    equal(
        rows(
            data.getIndexInfo(null, SCHEMA, "child", false, true),
            "INDEX_NAME",
            "NON_UNIQUE",
            "ORDINAL_POSITION",
            "COLUMN_NAME",
            "ASC_OR_DESC"),
        List.of(
            "child_pk|f|1|b|A",
            "child_pk|f|2|a|A",
            "child_parent|t|1|parent_id|A",
            "child_parent|t|2|amount|D"));
    equal(
        rows(data.getIndexInfo(null, SCHEMA, "parent", true, true), "INDEX_NAME", "COLUMN_NAME"),
        List.of("parent_name_key|name", "parent_pkey|id"));
  }

  private static void importedKeys(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    String[] wanted = {
      "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "FK_NAME", "PK_NAME",
      "DELETE_RULE"
    };
    List<String> expected =
        List.of(
            "parent|id|child|parent_id|child_parent_id_fkey|parent_pkey|"
                + DatabaseMetaData.importedKeyNoAction);
    equal(rows(data.getImportedKeys(null, SCHEMA, "child"), wanted), expected);
    equal(rows(data.getExportedKeys(null, SCHEMA, "parent"), wanted), expected);
    equal(
        rows(data.getCrossReference(null, SCHEMA, "parent", null, SCHEMA, "child"), wanted),
        expected);
    equal(rows(data.getImportedKeys(null, SCHEMA, "parent"), wanted), List.of());
  }

  private static void typeInfo(Connection connection) throws Exception {
    List<String> found = rows(connection.getMetaData().getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
    for (String expected :
        new String[] {
          "bool|" + Types.BIT, "int4|" + Types.INTEGER, "int8|" + Types.BIGINT,
          "numeric|" + Types.NUMERIC, "text|" + Types.VARCHAR, "varchar|" + Types.VARCHAR,
          "timestamptz|" + Types.TIMESTAMP, "bytea|" + Types.BINARY, "uuid|" + Types.OTHER,
          "_int4|" + Types.ARRAY,
        }) {
      if (!found.contains(expected)) {
        throw new AssertionError(expected + " is missing in " + found);
      }
    }
  }

  private static void schemas(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    List<String> found = rows(data.getSchemas(), "TABLE_SCHEM");
    equal(
        found.containsAll(List.of("information_schema", "pg_catalog", "public", SCHEMA)), true);
    equal(rows(data.getSchemas(null, "jdbc%"), "TABLE_SCHEM"), List.of(SCHEMA));
    equal(rows(data.getCatalogs(), "TABLE_CAT").contains(connection.getCatalog()), true);
    equal(rows(data.getTableTypes(), "TABLE_TYPE").contains("TABLE"), true);
  }

  private static void privileges(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    List<String> found =
        rows(data.getTablePrivileges(null, SCHEMA, "parent"), "GRANTEE", "PRIVILEGE");
    equal(found.contains(data.getUserName() + "|SELECT"), true);
    found = rows(data.getColumnPrivileges(null, SCHEMA, "parent", "name"), "PRIVILEGE");
    equal(found.contains("UPDATE"), true);
  }

  private static void functions(Connection connection) throws Exception {
    DatabaseMetaData data = connection.getMetaData();
    List<String> found = rows(data.getFunctions(null, "pg_catalog", "lower"), "FUNCTION_NAME");
    equal(found.contains("lower"), true);
    rows(data.getProcedures(null, SCHEMA, "%"), "PROCEDURE_NAME");
    int[] distinct = {Types.DISTINCT};
    equal(rows(data.getUDTs(null, SCHEMA, "%", distinct), "TYPE_NAME"), List.of());
  }
}
